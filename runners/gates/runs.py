"""What gates look at: runs of a variant, and the results that they write about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..model import GateResult
from ..oracle.messages import OutputVerdict
from ..protocol.messages import RunResult
from ..protocol.patterns import kind_of


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
    public: Run | None = None
    """of a run that failed on a secret seed: one on the public seed, of which all may be told"""


def printed_by(runs: Sequence[Run]) -> str:
    """What a variant printed on the public seed, in the first run in which it did: of secret seeds
    nothing is told."""
    texts = (run.public.result.printed for run in runs if run.public is not None)
    return next(filter(None, texts), "")


ON_PUBLIC = "so it is on the public seed, of which this is told"
NOT_ON_PUBLIC = (
    "on the public seed it does not: this depends on values, on what was there before, or on chance"
)
Gate = Callable[[Sequence[Run]], GateResult]


def fails(run: Run) -> bool:
    """Whether a run fails anything of the first set."""
    result = run.result
    found = result.fault_kind or result.overrun or result.touched_gaps or result.changed_inputs
    found = found or result.late or result.drifted
    return bool(found) or any(not verdict.right for verdict in run.verdicts)


def told(run: Run, secret: str, words: Callable[[Run], str]) -> str:
    """A failure for people: `words` of the run on the public seed, where they are not empty, and
    `secret` alone of one on a secret seed. A candidate chooses where and how it fails, so whatever
    is told in detail of a secret seed tells of its values."""
    public = run.public
    if public is None:
        return f"{where(run)}{secret}"
    detail = words(public)
    if detail:
        return f"{where(run)}{detail} ({ON_PUBLIC})"
    return f"{where(run)}{secret} ({NOT_ON_PUBLIC})"


def where(run: Run) -> str:
    """The place of a run, for people."""
    again = " (called again, on what the call before had left)" if run.result.again else ""
    return f"on `{run.shape}`{again}"


def passed(gate: str, runs: Sequence[Run]) -> GateResult:
    """A gate that found nothing in these runs."""
    return GateResult(gate=gate, outcome="passed", evidence={"runs": len(runs)})


def failed(gate: str, run: Run, message: str) -> GateResult:
    """A gate that this run does not pass."""
    evidence = {"shape": run.shape, "timed": run.timed, "poison": kind_of(run.result.poison)}
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
