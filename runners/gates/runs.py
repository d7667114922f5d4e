"""What gates look at: runs of a variant, and the results that they write about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..model import GateResult
from ..oracle.messages import OutputVerdict
from ..protocol.messages import RunResult


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a variant: where, what it left behind, and what the oracle says of it."""

    shape: str
    timed: bool
    result: RunResult
    verdicts: tuple[OutputVerdict, ...] = ()
    variant: str = ""
    """whose run it was, where several take turns"""
    pool: str = ""
    """whose inputs: the same slot of the same pool holds the same values"""


Gate = Callable[[Sequence[Run]], GateResult]


def where(run: Run) -> str:
    """The place of a run, for people."""
    again = " (called again, on what the call before had left)" if run.result.again else ""
    return f"on `{run.shape}`{again}"


def passed(gate: str, runs: Sequence[Run]) -> GateResult:
    """A gate that found nothing in these runs."""
    return GateResult(gate=gate, outcome="passed", evidence={"runs": len(runs)})


def failed(gate: str, run: Run, message: str) -> GateResult:
    """A gate that this run does not pass."""
    evidence = {"shape": run.shape, "timed": run.timed, "poison": run.result.poison}
    return GateResult(gate=gate, outcome="failed", message=message, evidence=evidence)


def first_failure(results: Sequence[GateResult]) -> GateResult | None:
    """The gate that decides the ending, None when all were passed."""
    return next((r for r in results if r.outcome == "failed"), None)


def together(earlier: Sequence[GateResult], later: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Results of one set over some runs, and over further runs: each gate once.

    A failure stays as it is; two passes count their runs together.
    """
    found = {result.gate: result for result in earlier}
    for result in later:
        known = found.get(result.gate)
        found[result.gate] = result if known is None else _both(known, result)
    return tuple(found.values())


def _both(a: GateResult, b: GateResult) -> GateResult:
    if a.outcome != "passed" or b.outcome != "passed":
        return a if a.outcome == "failed" or b.outcome == "skipped" else b
    runs = {"runs": a.evidence.get("runs", 0) + b.evidence.get("runs", 0)}
    return b.model_copy(update={"evidence": a.evidence | b.evidence | runs})
