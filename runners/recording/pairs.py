"""A program with and without kernels replaced: fresh processes, interleaved as A B B A.

Where launches are replaced both run beneath the shim, so that what the shim costs is in neither's
favour; the plain program is run once as well, and its output is what both are compared with.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Protocol

from ..errors import ProcessLost, SpecError
from ..processes.process import Limits, clean_environment, run_limited
from .fronts import Asked, Swap, environment_for
from .reading import read_recordings
from .recording import Program
from .running import Ran, run_program

COMPARE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How a run is judged: what counts, and what it has to leave."""

    metric: str = ""
    """a regular expression with one group that is a number of its output; empty: the wall's time"""
    higher: bool = False
    """more of the metric is better"""
    each: bool = False
    """the median of all numbers of the metric counts, as of a loop that tells every step; else the
    last one"""
    outputs: tuple[str, ...] = ()
    """files that it writes, from its folder, compared byte by byte; none: what it prints"""
    comparator: tuple[str, ...] = ()
    """a command that is given two folders with outputs and ends with 0 where they are as good"""


@dataclass(frozen=True, slots=True)
class OneRun:
    """A run: its cost (less is better), and whether its outputs are those of the plain program."""

    cost: float
    equal: bool
    used: int
    """launches that were replaced"""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A run with all that it left."""

    ran: Ran
    numbers: tuple[str, ...]
    """what the metric finds in all that it printed"""
    unwritten: tuple[str, ...]
    """outputs that it did not write: what lies there is of an earlier run"""


@dataclass(frozen=True, slots=True)
class Paired:
    """Runs in pairs: `without[i]` and `replaced[i]` ran beside each other."""

    without: tuple[OneRun, ...]
    replaced: tuple[OneRun, ...]
    notes: tuple[str, ...]
    """what the shim says of the replacements"""


class Sides(Protocol):
    """How a run with replacements is started, and one without."""

    def environment(self, place: Path, replaced: bool) -> dict[str, str]:
        """Variables for a run; what it tells of itself goes to `place`."""
        ...

    def used(self, place: Path) -> tuple[int, list[str]]:
        """How often replacements ran in the run of `place`, and what was told of them."""
        ...


@dataclass(frozen=True, slots=True)
class LaunchSides:
    """Launches replaced by the shim, which is in both kinds of run."""

    swaps: Sequence[Swap]

    def environment(self, place: Path, replaced: bool) -> dict[str, str]:
        """With the shim."""
        given = self.swaps if replaced else ()
        return environment_for("shim", place / "shim", Asked(), swaps=given)

    def used(self, place: Path) -> tuple[int, list[str]]:
        """As the shim says."""
        used, told = 0, list[str]()
        for recording in read_recordings(place / "shim"):
            used += sum(int(r["uses"]) for r in recording.summary["replacements"])
            told += [str(note["note"]) for note in recording.notes if "note" in note]
        return used, told


def run_pairs(program: Program, sides: Sides, judged: Judged, pairs: int, scratch: Path) -> Paired:
    """Run them. Raises ProcessLost where the program fails without the replacements, SpecError for
    a metric that it does not print, an output that it does not write, and where nothing of it can
    be compared."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True, mode=0o700)
    plain = _run(program, {}, scratch / "plain", judged)
    _must_be_judgeable(plain, scratch / "plain", judged)
    found: dict[bool, list[OneRun]] = {False: [], True: []}
    counts: dict[bool, set[int]] = {False: {len(plain.numbers)}, True: set()}
    notes = list[str]()
    for number in range(pairs):
        for with_swaps in (False, True) if number % 2 == 0 else (True, False):
            place = scratch / f"{number}-{'with' if with_swaps else 'without'}"
            tried = _run(program, sides.environment(place, with_swaps), place, judged)
            used, told = sides.used(place)
            notes += told
            if tried.ran.failed:
                last = tried.ran.stderr.strip().splitlines()[-1:]
                notes.append(": ".join([f"the program ended with {tried.ran.ending}", *last]))
            else:
                notes += [f"in one run it wrote no {name}" for name in tried.unwritten]
                counts[with_swaps].add(len(tried.numbers))
            found[with_swaps].append(_judged(tried, place, scratch / "plain", judged, used))
    replaced, why = _counted(found[True], counts)
    notes += why
    return Paired(tuple(found[False]), tuple(replaced), tuple(dict.fromkeys(notes)))


def _must_be_judgeable(plain: _Tried, place: Path, judged: Judged) -> None:
    """The plain program ends well, writes what it is judged by, and leaves something to compare."""
    if plain.ran.failed:
        raise ProcessLost(
            f"the program fails by itself: {plain.ran.ending}", next_step="mend its command first"
        )
    if plain.unwritten:
        raise SpecError(
            f"the program wrote no {plain.unwritten[0]}",
            valid="a file, from the program's folder, that each run writes anew",
        )
    printed = (place / "outputs" / "stdout.txt").read_text("utf-8").strip()
    if not (printed or judged.outputs or judged.comparator):
        raise SpecError(
            "there is nothing to compare: beside its metric the program prints nothing",
            valid="a program that prints results, or the files that it writes (`outputs`)",
            next_step="have it write a result that depends on the kernel, and name that file",
        )


def _judged(tried: _Tried, place: Path, plain: Path, judged: Judged, used: int) -> OneRun:
    if tried.ran.failed:
        return OneRun(float("nan"), False, used)
    equal = not tried.unwritten and _same(plain, place, judged)
    return OneRun(cost_of(tried.ran, tried.numbers, judged), equal, used)


def _counted(
    replaced: Sequence[OneRun], counts: dict[bool, set[int]]
) -> tuple[list[OneRun], list[str]]:
    """The replaced runs, none of which is equal where code in a kernel's place prints numbers like
    those of the metric: without it the program always prints so many, and with it others. Where
    runs without it differ as well, what prints them goes by the clock."""
    if len(counts[False]) > 1 or counts[True] <= counts[False]:
        return list(replaced), []
    (always,), others = counts[False], sorted(counts[True] - counts[False])
    told = f"the metric is printed {always} times, and {others[0]} times with the replacement"
    return [replace(run, equal=False) for run in replaced], [told]


def cost_of(ran: Ran, numbers: Sequence[str], judged: Judged) -> float:
    """Seconds of the wall, or the metric, as something of which less is better: the last number
    that the output has, or the median of all. Raises SpecError."""
    if not judged.metric:
        return ran.wall_s
    try:
        values = [float(number) for number in numbers]
        value = median(values) if judged.each and values else values[-1]
    except (IndexError, ValueError, TypeError) as error:
        raise SpecError(
            f"the program's output has no number where the metric {judged.metric!r} says",
            valid="a regular expression with one group, such as 'loop ([0-9.]+) ms'",
        ) from error
    if not 0 < value < math.inf:
        raise SpecError(f"the metric is {value:g}", valid="a number above 0")
    return 1 / value if judged.higher else value


def _run(program: Program, environment: dict[str, str], place: Path, judged: Judged) -> _Tried:
    before = {name: _written(program.folder / name) for name in judged.outputs}
    ran = run_program(
        program.command,
        folder=program.folder,
        scratch=place / "output",
        environment=environment,
        timeout_s=program.timeout_s,
        stdin=program.stdin,
    )
    kept = place / "outputs"
    kept.mkdir(parents=True)
    printed, complained = (
        (place / "output" / f"program.{stream}").read_text("utf-8", "replace")
        for stream in ("stdout", "stderr")
    )
    text = re.sub(judged.metric, "", printed) if judged.metric else printed
    (kept / "stdout.txt").write_text(text, "utf-8")
    numbers = re.findall(judged.metric, printed + "\n" + complained) if judged.metric else ()
    unwritten = list[str]()
    for name, mark in before.items():
        source = program.folder / name
        if _written(source) in (None, mark):
            unwritten.append(name)
        else:
            shutil.copyfile(source, kept / name.replace("/", "_"))
    return _Tried(ran, tuple(numbers), tuple(unwritten))


def _written(file: Path) -> tuple[int, int, int] | None:
    """What another writing changes, whatever is written; None where there is no such file."""
    try:
        status = file.stat()
    except OSError:
        return None
    regular = stat.S_ISREG(status.st_mode)
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns) if regular else None


def _same(plain: Path, other: Path, judged: Judged) -> bool:
    one, two = plain / "outputs", other / "outputs"
    if judged.comparator:
        done = run_limited(
            [*judged.comparator, str(one), str(two)],
            scratch=other / "comparator",
            environment=clean_environment(other),
            limits=Limits(wall_s=COMPARE_S),
        )
        return done.returncode == 0
    return _digest(one, judged) == _digest(two, judged)


def _digest(folder: Path, judged: Judged) -> str:
    """Of the files that are outputs; of what is printed where none are named."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.name != "stdout.txt" or not judged.outputs:
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def run_with(program: Program, swaps: Sequence[Swap], place: Path) -> int:
    """Run the program once with replacements, its output passed on; its exit status."""
    environment = environment_for("shim", place / "shim", Asked(), swaps=swaps)
    ran = run_program(
        program.command,
        folder=program.folder,
        scratch=place / "output",
        environment=environment,
        timeout_s=program.timeout_s,
        echo=program.echo,
        stdin=program.stdin,
    )
    return ran.returncode


def run_shadowed(
    program: Program, swaps: Sequence[Swap], launches: int, place: Path
) -> tuple[Ran, list[dict[str, object]]]:
    """Run it with both kernels for the first `launches` of each, the original's results staying;
    what was told of their differences."""
    shutil.rmtree(place, ignore_errors=True)
    asked = replace(Asked(), shadow=launches)
    environment = environment_for("shim", place / "shim", asked, swaps=swaps)
    ran = run_program(
        program.command,
        folder=program.folder,
        scratch=place / "output",
        environment=environment,
        timeout_s=program.timeout_s,
    )
    found = [dict(n) for r in read_recordings(place / "shim") for n in r.notes]
    return ran, found
