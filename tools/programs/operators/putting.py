"""A winner in a program's operator, with proof: verified, installed, measured again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....analysis.programs.calls import calls_of, why_no_gain
from ....analysis.programs.gains import amdahl
from ....analysis.programs.outcome import ProgramVerdict
from ....analysis.programs.verdict import verdict
from ....deploy.reading import read_winner
from ....runners.errors import AccessError
from ....runners.recording.operators.alone import gain_alone
from ....runners.recording.operators.call_cost import noted_cost
from ....runners.recording.operators.putting import (
    OperatorSides,
    install_operators,
    installed_operators,
    put_together,
)
from ....runners.recording.operators.seen import SeenOperators, operators_of
from ....runners.recording.pairs import Judged, run_pairs
from ....runners.recording.recording import COUNT, Program, recorded_program

TRIED, PAIRS, ALONE = "tried-operators", "pairs", "alone"


def verified_operator(
    program: Program,
    outdir: Path,
    winner: Path,
    judged: Judged,
    *,
    pairs: int,
    wanted: bool = False,
) -> ProgramVerdict:
    """Whether the program is faster and as right with the winner of a folder, beside what its
    operator alone and Amdahl's law predict; `wanted`: installed where it is. Raises
    KernelwrightError where nothing can be said."""
    told = read_winner(winner)
    installed, _ = installed_operators(outdir)
    tried = put_together(installed, winner, outdir / TRIED)
    try:
        sides = OperatorSides(tried, told.operator, installed)
        paired = run_pairs(program, sides, judged, pairs, outdir / PAIRS)
        gains = _gains(outdir, winner, [case.label for case in told.cases])
        found = verdict(paired, _predicted(outdir, gains, judged))
        notes = (
            *(f"{each} alone is {gain:.3f}x as fast" for each, gain in gains.items()),
            *_no_gain(outdir, [case.label for case in told.cases]),
        )
        found = found.model_copy(update={"notes": (*found.notes, *notes)})
        if not wanted or found.outcome != "faster":
            return found
        install_operators(outdir, tried, told.operator, found.model_dump(mode="json"))
        return found.model_copy(update={"installed": True})
    finally:
        shutil.rmtree(tried, ignore_errors=True)


def drifted_operators(
    program: Program, outdir: Path, judged: Judged, *, pairs: int
) -> ProgramVerdict:
    """Measure what is installed again. Raises AccessError where nothing is."""
    installed, proofs = installed_operators(outdir)
    if installed is None:
        raise AccessError(f"nothing is installed in {outdir}", valid="a verified replacement")
    (operator, proof), *_ = proofs.items()
    sides = OperatorSides(installed, operator)
    told = verdict(run_pairs(program, sides, judged, pairs, outdir / PAIRS))
    then = f"; {operator} was {proof.get('speedup', 0):.4f}x when it was installed"
    return told.model_copy(update={"told": told.told + then, "installed": True})


def _gains(outdir: Path, winner: Path, labels: Sequence[str]) -> dict[str, float]:
    """How many times as fast as PyTorch's each operator alone is, where that can be told."""
    scratch = outdir / ALONE
    scratch.mkdir(mode=0o700, exist_ok=True)
    found = {each: gain_alone(outdir / COUNT, each, winner, scratch) for each in labels}
    return {label: gain for label, gain in found.items() if gain is not None}


def _no_gain(outdir: Path, labels: Sequence[str]) -> list[str]:
    """Of which labels no kernel, however fast, makes the program faster, and why."""
    found = operators_of(outdir / COUNT)
    calls, named = calls_of(found, noted_cost(outdir)), {each.label: each for each in found.rows}
    asked = {each: why_no_gain(named[each], found, calls) for each in labels if each in named}
    return [f"{label}: {why}" for label, why in asked.items() if why]


def _predicted(outdir: Path, gains: Mapping[str, float], judged: Judged) -> float | None:
    """By the operators' shares of what is judged: the wall's time, or (a metric) all operators'."""
    seen: SeenOperators = operators_of(outdir / COUNT)
    whole = seen.ns if judged.metric else recorded_program(outdir)["ran"]["wall_s"] * 1e9
    taken = {each.label: each.ns for each in seen.rows if each.label in gains}
    if not taken or whole <= 0:
        return None
    ns = sum(taken.values())
    together = ns / sum(each / gains[label] for label, each in taken.items()) if ns else 1.0
    return amdahl(min(1.0, ns / whole), together)
