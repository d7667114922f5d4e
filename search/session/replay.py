"""A variant's folder built, checked and timed again: does its verdict hold, here and now?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ...evaluation.bench import Bench
from ...runners.errors import AccessError, SpecError
from ...runners.loading.files import LoadedKernel
from ...runners.model import BuildOptions, Ending, Evaluation, Variant
from ...runners.specs.normalise import source_key
from ...runners.wording import cut, speedup_text
from ...store.records import VariantRecord

KERNEL_FILE, CONTROL_FILE, RESULT_FILE = "kernel.json", "control.json", "result.json"


@dataclass(frozen=True)
class Recorded:
    """What a folder holds of a variant: itself, and how it ended when it was written."""

    loaded: LoadedKernel
    variant: Variant
    ending: Ending
    speedup: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Replayed:
    """The two endings of a variant."""

    recorded: Recorded
    again: Evaluation

    @property
    def holds(self) -> bool:
        """Whether it ended alike: faster, slower and as fast are verdicts, and so is every way to
        fail."""
        return self.recorded.ending == self.again.ending

    def told(self) -> str:
        """Both endings and whether the verdict holds, a line each."""
        old, new = self.recorded, self.again
        lines = [
            f"recorded: {old.ending} {speedup_text(old.speedup, old.interval)}".rstrip(),
            f"again:    {new.ending} {speedup_text(new.speedup, new.interval)}".rstrip(),
        ]
        if not new.ending.measured:
            lines.append(cut(new.message, 600))
        return "\n".join([*lines, f"the verdict {'holds' if self.holds else 'does not hold'}"])


def recorded(folder: Path) -> Recorded:
    """What lies in `kernels/NAME/variants/ID`, which its `control.json` may stand for. Raises
    AccessError for another folder, SpecError for files that do not say a variant."""
    home = folder.resolve()
    home = home.parent if home.name == CONTROL_FILE else home
    kernel = next((p / KERNEL_FILE for p in home.parents[:2] if (p / KERNEL_FILE).is_file()), None)
    if kernel is None or not (home / CONTROL_FILE).is_file():
        raise AccessError(
            f"{folder} is no folder of a variant: it has no {CONTROL_FILE}, or no {KERNEL_FILE} "
            "lies above it",
            valid="OUT/kernels/NAME/variants/ID or OUT/kernels/NAME/baseline, within the folder of "
            "its kernel, which may come from another machine as a whole",
        )
    control, result = _json(home / CONTROL_FILE), _json(home / RESULT_FILE)
    try:
        loaded = LoadedKernel.model_validate_json(kernel.read_text(encoding="utf-8"))
        language = loaded.spec.kernel.language
        source = (home / language.file_name).read_text(encoding="utf-8")
        variant = Variant(
            kernel_id=loaded.kernel_id,
            source=source,
            source_key=source_key(source, loaded.spec.kernel.kernel_type),
            plan=control["plan"],
            options=BuildOptions.model_validate(control["options"]),
            parameters=control["parameters"],
        )
        ending = Ending(result["ending"])
    except (OSError, KeyError, ValueError, ValidationError) as error:
        raise SpecError(
            f"the files of {folder} do not say a variant and how it ended: {error}",
            next_step="write them anew: kernelwright optimize --resume on their outdir",
        ) from error
    return Recorded(loaded, variant, ending, result.get("speedup"), result.get("interval"))


def replay(bench: Bench, found: Recorded) -> Replayed:
    """The variant built, checked and timed against its kernel's baseline, in a bench that knows
    neither. Raises what `Evaluator.open` and `Evaluator.evaluate` raise."""
    bench.evaluator.open(found.loaded)
    record = VariantRecord(variant=found.variant, method="replay")
    return Replayed(found, bench.evaluator.evaluate(record))


def _json(path: Path) -> dict[str, Any]:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AccessError(
            f"{path.name} cannot be read: {error}", valid="the file as a search wrote it"
        ) from error
    return cast(dict[str, Any], data) if isinstance(data, dict) else {}
