"""The gates of the first set: named functions from what a run left behind to a result.

Each reads like a sentence and can be tried alone. The first that fails decides the ending
(`ENDINGS`); the order of FIRST_SET is the order of suspicion: what never ran cannot have
overrun anything, and what overran its buffers must not be called merely wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .model import Ending, GateResult
from .oracle_messages import OutputVerdict
from .runner_messages import RunResult


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a variant: where, what it left behind, and what the oracle says of it."""

    shape: str
    timed: bool
    result: RunResult
    verdicts: tuple[OutputVerdict, ...] = ()
    variant: str = ""
    """whose run it was, where several take turns"""


Gate = Callable[[Sequence[Run]], GateResult]


def _where(run: Run) -> str:
    again = " (called again, on what the call before had left)" if run.result.again else ""
    return f"on `{run.shape}`{again}"


def _passed(gate: str, message: str = "") -> GateResult:
    return GateResult(gate=gate, outcome="passed", message=message)


def _failed(gate: str, run: Run, message: str) -> GateResult:
    evidence = {"shape": run.shape, "timed": run.timed, "poison": run.result.poison}
    return GateResult(gate=gate, outcome="failed", message=message, evidence=evidence)


def returns_in_time(runs: Sequence[Run]) -> GateResult:
    """Every run came back before its time limit."""
    for run in runs:
        if run.result.fault_kind == "timed_out":
            return _failed("returns_in_time", run, f"{_where(run)}: {run.result.fault}")
    return _passed("returns_in_time")


def does_not_crash(runs: Sequence[Run]) -> GateResult:
    """The process that ran it is still there."""
    for run in runs:
        if run.result.fault_kind not in ("", "timed_out"):
            return _failed("does_not_crash", run, f"{_where(run)}: {run.result.fault}")
    return _passed("does_not_crash")


def stays_in_its_buffers(runs: Sequence[Run]) -> GateResult:
    """Guard bands around every buffer, and gaps between strided elements, are untouched."""
    for run in runs:
        if run.result.overrun:
            return _failed(
                "stays_in_its_buffers", run, f"{_where(run)} it wrote {run.result.overrun}"
            )
        if run.result.touched_gaps:
            names = ", ".join(run.result.touched_gaps)
            return _failed(
                "stays_in_its_buffers", run, f"{_where(run)} it wrote between rows of {names}"
            )
    return _passed("stays_in_its_buffers")


def leaves_inputs_alone(runs: Sequence[Run]) -> GateResult:
    """Inputs hold the same bytes after the run as before."""
    for run in runs:
        if run.result.changed_inputs:
            names = ", ".join(run.result.changed_inputs)
            return _failed("leaves_inputs_alone", run, f"{_where(run)} it changed {names}")
    return _passed("leaves_inputs_alone")


def is_right(runs: Sequence[Run]) -> GateResult:
    """Every output of every checked run agrees with the reference."""
    return _agrees("is_right", [r for r in runs if not r.timed])


def is_right_while_timed(runs: Sequence[Run]) -> GateResult:
    """The outputs of the timed launches agree with the reference as well."""
    return _agrees("is_right_while_timed", [r for r in runs if r.timed])


def _agrees(gate: str, runs: Sequence[Run]) -> GateResult:
    if not runs:
        return GateResult(gate=gate, outcome="skipped", message="nothing was run")
    largest = 0.0
    for run in runs:
        for verdict in run.verdicts:
            if not verdict.right:
                failed = _failed(gate, run, f"{_where(run)}: {verdict.message}")
                evidence = failed.evidence | verdict.model_dump(mode="json")
                return failed.model_copy(update={"evidence": evidence})
            if verdict.allowed > 0:
                largest = max(largest, verdict.largest / verdict.allowed)
    return GateResult(
        gate=gate,
        outcome="passed",
        message=f"{len(runs)} runs, at most {largest:.0%} of the allowed error",
        evidence={"runs": len(runs), "share_of_allowed_error": round(largest, 4)},
    )


FIRST_SET: tuple[Gate, ...] = (
    returns_in_time,
    does_not_crash,
    stays_in_its_buffers,
    leaves_inputs_alone,
    is_right,
    is_right_while_timed,
)
ENDINGS: Mapping[str, Ending] = {
    "static_screen": Ending.rejected,
    "returns_in_time": Ending.timed_out,
    "does_not_crash": Ending.launch_failed,
    "stays_in_its_buffers": Ending.unsafe,
    "leaves_inputs_alone": Ending.unsafe,
    "is_right": Ending.wrong,
    "is_right_while_timed": Ending.cheated,
}


def first_failure(results: Sequence[GateResult]) -> GateResult | None:
    """The gate that decides the ending, None when all were passed."""
    return next((r for r in results if r.outcome == "failed"), None)
