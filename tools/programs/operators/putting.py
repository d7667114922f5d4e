"""A winner in a program's operator, with proof: verified, installed, measured again."""

from __future__ import annotations

import shutil
from pathlib import Path

from ....analysis.programs.gains import amdahl
from ....analysis.programs.outcome import ProgramVerdict
from ....analysis.programs.verdict import verdict
from ....deploy.reading import read_winner
from ....runners.errors import AccessError
from ....runners.recording.operators.putting import (
    OperatorSides,
    install_operators,
    installed_operators,
    put_together,
)
from ....runners.recording.operators.seen import SeenOperators, operators_of
from ....runners.recording.pairs import Judged, run_pairs
from ....runners.recording.recording import COUNT, Program, recorded_program

TRIED, PAIRS = "tried-operators", "pairs"


def verified_operator(
    program: Program,
    outdir: Path,
    winner: Path,
    judged: Judged,
    *,
    pairs: int,
    gain: float | None = None,
    wanted: bool = False,
) -> ProgramVerdict:
    """Whether the program is faster and as right with the winner of a folder; `wanted`: installed
    where it is. `gain`: how many times as fast as PyTorch's the kernel itself is, where that is
    known. Raises KernelwrightError where nothing can be said."""
    told = read_winner(winner)
    installed, _ = installed_operators(outdir)
    tried = put_together(installed, winner, outdir / TRIED)
    try:
        sides = OperatorSides(tried, told.operator, installed)
        paired = run_pairs(program, sides, judged, pairs, outdir / PAIRS)
        labels = [case.label for case in told.cases]
        found = verdict(paired, _predicted(outdir, labels, gain, judged))
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


def _predicted(outdir: Path, labels: list[str], gain: float | None, judged: Judged) -> float | None:
    """By the operator's share of what is judged: the wall's time, or (a metric) all operators'."""
    if gain is None:
        return None
    seen: SeenOperators = operators_of(outdir / COUNT)
    whole = seen.ns if judged.metric else recorded_program(outdir)["ran"]["wall_s"] * 1e9
    ns = sum(each.ns for each in seen.rows if each.label in labels)
    return amdahl(min(1.0, ns / whole), gain) if whole > 0 else None
