"""Several kernels of one run in the order of what searching them is worth."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ....analysis.roofline import summary
from ....analysis.worth import Worth, above_floor
from ....evaluation.evidence.headroom import peaks_for
from ....runners.errors import AccessError, KernelwrightError, SpecError

if TYPE_CHECKING:
    from ....evaluation.bench import Bench
    from ....runners.loading.files import LoadedKernel
    from ....store.records import KernelRecord


def worth_of(
    bench: Bench, kernel: KernelRecord, loaded: LoadedKernel, weights: Mapping[str, float]
) -> Worth:
    """What a search of an open kernel is worth, as its incumbent stands. `loaded`: its spec as it
    is now, which may have another weight than when the kernel was first opened; `weights`: by the
    kernel's name, over those of specs."""
    spec = loaded.spec
    return Worth(weight=weights.get(spec.name, spec.weight), above=_above(bench, kernel))


def check_weights(weights: Mapping[str, float], specs: Iterable[Path | LoadedKernel]) -> None:
    """Before anything is built: raises SpecError where a weight is of no kernel of the run."""
    if not weights:
        return
    known = [name for name in map(_name, specs) if name]
    for name in weights:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or known
            raise SpecError(
                f"a weight is given for `{name}`, which is no kernel of this run",
                valid=", ".join(near) or "the names of its specs",
                next_step="kernels are called by the `name` of their spec",
            )


def read_weights(path: Path) -> dict[str, float]:
    """Weights by kernel from a JSON file: `{"softmax": 3, "scale": 0.5}`. Raises SpecError,
    AccessError."""
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AccessError(
            f"{path} cannot be read: {error.strerror}", valid="a JSON file"
        ) from error
    except ValueError as error:
        raise SpecError(f"{path} is no JSON: {error}", valid=FORM) from error
    if not isinstance(given, dict):
        raise SpecError(f"{path} holds no weights by kernel", valid=FORM)
    pairs = cast("dict[str, object]", given).items()
    return {name: _weight(path, name, value) for name, value in pairs}


def _name(spec: Path | LoadedKernel) -> str:
    """Of a file that cannot be read, nothing: opening it tells why."""
    if not isinstance(spec, Path):
        return spec.spec.name
    try:
        data: Any = json.loads(spec.read_text(encoding="utf-8"))
        return str(data["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


FORM = '{"softmax": 3, "scale": 0.5}: by the name of each spec a number above 0'


def _weight(path: Path, name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value) and value > 0:
            return float(value)
    raise SpecError(f"{path}: the weight of `{name}` is {value!r}", valid=FORM)


def _above(bench: Bench, kernel: KernelRecord) -> float | None:
    if not kernel.baseline_ms:
        return None
    try:
        peaks = peaks_for(bench, kernel)
    except KernelwrightError:
        return None  # what keeps peaks from being known is told when its search begins
    found = bench.evaluator.evaluation(kernel.incumbent)
    speedup = 1.0 if found is None else found.speedup or 1.0
    now = {name: ms / speedup for name, ms in kernel.baseline_ms.items()}
    spec = kernel.loaded.spec
    return above_floor(summary(spec, peaks, now), {w.name: w.weight for w in spec.workloads})
