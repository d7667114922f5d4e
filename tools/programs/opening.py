"""A recorded kernel as a spec of its own: a folder with the spec, its source and its data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...analysis.programs.groups import grouped
from ...runners.errors import AccessError, HandleUnknown, SpecError
from ...runners.recording.names import readable_names
from ...runners.recording.opening.cuda_spec import CudaSource, cuda_spec
from ...runners.recording.opening.observed import Observed, Opened
from ...runners.recording.opening.triton_cut import cut_source
from ...runners.recording.opening.triton_spec import short_name, triton_spec
from ...runners.recording.recorded import Recording
from ...runners.recording.recording import COUNT, KEPT, busiest
from ...runners.recording.replaying.kept import KeptLaunch
from ...runners.recording.replaying.replaying import replay_launches
from ...runners.recording.sources import TritonSource, triton_source_of
from ...runners.specs.text import written
from ...runners.whole_files import write_whole
from .recorded import chosen, kept_of

SPEC, TRITON_FILE = "spec.json", "kernel.py"
MIB = 1 << 20
_QUOTED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OpenedRecorded:
    """Where the spec lies, and what is to be known of it."""

    spec: Path
    workloads: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def specs(self) -> tuple[Path, ...]:
        """A kernel has one."""
        return (self.spec,)


def open_recorded(
    outdir: Path,
    label: str,
    to: Path,
    *,
    source: Path | None = None,
    entry: str = "",
    reference: Path | None = None,
    most_mib: int = 512,
) -> OpenedRecorded:
    """Write the spec of a kept launch into a new folder, with all that it needs.

    The kernel's other kept launches become workloads of it. Raises KernelwrightError, in a
    sentence, for what a spec cannot say.
    """
    recording = busiest(outdir / COUNT)
    kept = _alike(kept_of(outdir), label, recording)
    triton = _triton_source(kept[0], (busiest(outdir / KEPT).folder, recording.folder))
    if source is None and triton is None:
        raise _sourceless(kept[0])
    _check_empty(to)
    observed, told = _observed(recording, kept, outdir / "replay")
    if source is not None:
        made, files = _of_cuda(source, entry, observed, most_mib * MIB)
    else:
        assert triton is not None
        made, files = _of_triton(triton, observed, most_mib * MIB)
    _write(made, to, files, reference)
    return OpenedRecorded(
        to / SPEC, tuple(w["name"] for w in made.data["workloads"]), (*told, *made.notes)
    )


def _of_cuda(
    source: Path, entry: str, observed: Sequence[Observed], most_bytes: int
) -> tuple[Opened, dict[str, str]]:
    """The spec, and the texts that it needs by the names of their files."""
    text = _read(source)
    files = dict(_included(source.parent, text))
    made = cuda_spec(CudaSource(source.name, text, files, entry), observed, most_bytes)
    return made, {source.name: text, **files}


def _of_triton(
    source: TritonSource, observed: Sequence[Observed], most_bytes: int
) -> tuple[Opened, dict[str, str]]:
    """As `_of_cuda`; the function is cut out of its file, where that is what it was."""
    file = Path(source.file)
    whole = _read(file) if file.is_file() else None
    text = cut_source(whole, source.text, source.name, short_name(source.name))
    return triton_spec(source, TRITON_FILE, text, observed, most_bytes), {TRITON_FILE: text}


def _triton_source(kept: KeptLaunch, processes: Sequence[Path]) -> TritonSource | None:
    if kept.image is None:
        return None
    found = (triton_source_of(kept.image, process) for process in processes)
    return next((each for each in found if each is not None), None)


def _alike(found: Sequence[KeptLaunch], label: str, recording: Recording) -> tuple[KeptLaunch, ...]:
    """The launch of that label, then the others of its machine code. Raises HandleUnknown."""
    first = next((k for k in found if k.label == label), None)
    if first is None:
        chosen(recording, [label])  # of no launch at all: told with those that there are
        raise HandleUnknown(
            f"no launch `{label}` was kept",
            valid=", ".join(k.label for k in found) or "none was",
            next_step=f"`kernelwright program keep RECORDING --only {label}` keeps one",
        )
    same = [k for k in found if (k.name, k.image) == (first.name, first.image) and k is not first]
    return (first, *same)


def _sourceless(kept: KeptLaunch) -> SpecError:
    name = readable_names([kept.name]).get(kept.name, kept.name)
    return SpecError(
        f"nothing is known of the source of {name}: machine code alone says no names and no types",
        next_step="name the .cu that defines it (--source FILE.cu). Of a library's kernel there is "
        "none to name: write a kernel that does the same for your sizes, with a spec of its own "
        "(`kernelwright spec --infer`), and put it in with `kernelwright program verify`",
    )


def _observed(
    recording: Recording, kept: Sequence[KeptLaunch], scratch: Path
) -> tuple[tuple[Observed, ...], tuple[str, ...]]:
    """Each launch with its count and, replayed, its roles."""
    counts = {g.label: g.count for g in grouped(recording).groups}
    replays = replay_launches(kept, scratch, roles=True)
    notes = tuple(
        f"{r.kept.label}: {r.verdict}; what cannot be told from poison is taken from `const`"
        for r in replays
        if not r.equal
    ) + _left_out(recording, kept)
    found = tuple(
        Observed(r.kept, counts.get(r.kept.label, 1), r.roles, bool(r.noise)) for r in replays
    )
    return found, notes


def _left_out(recording: Recording, kept: Sequence[KeptLaunch]) -> tuple[str, ...]:
    """What to do for the sizes of the kernel that no launch was kept of."""
    have = [k.label for k in kept]
    groups = [g for g in grouped(recording).groups if g.configuration.function.name == kept[0].name]
    missing = [g.label for g in groups if g.label not in have and g.ordinal]
    if not missing:
        return ()
    wanted = " ".join(f"--only {label}" for label in (*have, *missing))
    return (
        f"{len(missing)} more of its configurations are recorded and not kept: `kernelwright "
        f"program keep RECORDING {wanted}` keeps them as workloads",
    )


def _check_empty(to: Path) -> None:
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise AccessError(f"{to} is there already", next_step="name a new folder (--to)")


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(f"{file} cannot be read as text: {error}") from error


def _included(folder: Path, text: str) -> Iterator[tuple[str, str]]:
    """Files beside a source that it includes, and that those include; each once."""
    open_ones, seen = [text], set[str]()
    while open_ones:
        for name in _QUOTED.findall(open_ones.pop()):
            file = folder / name
            inside = file.resolve().is_relative_to(folder.resolve()) and ".." not in name
            if name not in seen and inside and file.is_file():
                seen.add(name)
                open_ones.append(_read(file))
                yield name, open_ones[-1]


def _write(made: Opened, to: Path, sources: Mapping[str, str], reference: Path | None) -> None:
    """For its owner alone: it holds the program's data. The spec comes last."""
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in sources.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(to / name, text)
    for name, values in made.arrays.items():
        with open(os.open(to / name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            np.save(file, values)
    data = dict(made.data)
    if reference is not None:
        write_whole(to / "reference.py", _read(reference))
        data["reference"] = "reference.py"
    write_whole(to / SPEC, written(data) + "\n")
