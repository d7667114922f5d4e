"""A kernel put into a program with proof, and measured again later: shadow, verify, drift."""

from __future__ import annotations

from pathlib import Path

from ...analysis.programs.gains import amdahl
from ...analysis.programs.groups import Group, grouped
from ...analysis.programs.outcome import ProgramVerdict
from ...analysis.programs.verdict import verdict
from ...runners.errors import AccessError, DeviceMissing, ProcessLost
from ...runners.recording.fronts import Swap
from ...runners.recording.pairs import Judged, LaunchSides, run_pairs, run_shadowed
from ...runners.recording.recorded import Recording
from ...runners.recording.recording import COUNT, Program, busiest
from ...runners.recording.replaying.replay import Other
from ...runners.recording.replaying.replaying import replay_launches
from ...runners.recording.swaps import Replacement, install, installed, swap_for
from .recorded import chosen, kept_of

TIMED_RUNS = 10


def swap_of(outdir: Path, label: str, new: Replacement) -> tuple[Swap, Group]:
    """The swap for a kernel of a recording by its label. Raises KernelwrightError."""
    (group,) = chosen(busiest(outdir / COUNT), [label])
    return swap_for(group.configuration, new), group


def verified(
    program: Program,
    outdir: Path,
    label: str,
    new: Replacement,
    judged: Judged,
    *,
    pairs: int,
    wanted: bool = False,
) -> ProgramVerdict:
    """Whether the program is faster and as right with it; `wanted`: installed where it is.

    Raises KernelwrightError where nothing can be said.
    """
    swap, group = swap_of(outdir, label, new)
    gain = _kernel_gain(outdir, label, new)
    recording = busiest(outdir / COUNT)
    predicted = None if gain is None else _predicted(recording, group, gain, judged)
    paired = run_pairs(program, LaunchSides([swap]), judged, pairs, outdir / "pairs")
    told = verdict(paired, predicted)
    if wanted and told.outcome == "faster":
        install(outdir, [swap], told.model_dump(mode="json"))
        return told.model_copy(update={"installed": True})
    return told


def drifted(program: Program, outdir: Path, judged: Judged, *, pairs: int) -> ProgramVerdict:
    """Measure what is installed again: another driver, other inputs, another GPU may have changed
    it. Raises AccessError where nothing is installed."""
    swaps, proof = installed(outdir)
    if not swaps:
        raise AccessError(f"nothing is installed in {outdir}", valid="a verified replacement")
    told = verdict(run_pairs(program, LaunchSides(swaps), judged, pairs, outdir / "pairs"))
    was = proof.get("speedup")
    then = f"; it was {was:.4f}x when it was installed" if was is not None else ""
    return told.model_copy(update={"told": told.told + then, "installed": True})


def shadowed(
    program: Program, outdir: Path, label: str, new: Replacement, launches: int
) -> list[dict[str, object]]:
    """Both kernels beside each other in the program, the original's results staying. What they
    differed in, a row for each buffer that either wrote otherwise. Raises ProcessLost."""
    swap, _ = swap_of(outdir, label, new)
    ran, found = run_shadowed(program, [swap], launches, outdir / "shadow")
    if ran.failed:
        raise ProcessLost(f"the program ended with {ran.ending} beside its shadow")
    return found


def _kernel_gain(outdir: Path, label: str, new: Replacement) -> float | None:
    """How many times as fast the kernel itself is, replayed where it was kept; None: not known."""
    try:
        kept = [each for each in kept_of(outdir) if each.label == label]
    except AccessError:
        return None
    if not kept:
        return None
    other = Other(new.cubin, new.entry, new.grid, new.block, new.shared)
    try:
        (was,) = replay_launches(kept, outdir / "replay", runs=TIMED_RUNS)
        (now,) = replay_launches(kept, outdir / "replay", runs=TIMED_RUNS, other=other)
    except (DeviceMissing, ProcessLost):
        return None
    return was.warm_us / now.warm_us if was.warm_us and now.warm_us else None


def _predicted(recording: Recording, group: Group, gain: float, judged: Judged) -> float | None:
    """By the kernel's share of what is judged: the wall's time is that of the process, start-up
    with it; a metric of the program is taken to be bound by the GPU's kernels."""
    by_wall = float(recording.summary["seconds"]) * 1e9
    whole = grouped(recording).total_ns if judged.metric else by_wall
    if not recording.has_times or whole <= 0:
        return None
    return amdahl(min(1.0, group.sum_ns / whole), gain)
