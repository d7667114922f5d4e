"""The first set: what every candidate goes through.

The first gate that fails decides the ending; the order of FIRST_SET is the order of suspicion:
what never ran cannot have overrun anything, and what overran its buffers must not be called
merely wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model import GateResult
from ..oracle.messages import OutputVerdict
from .runs import Gate, Run, failed, passed, told, where

LATE = "outputs changed behind the event that told their end: some work is waited for by nothing"
DRIFTED = (
    "each call leaves {} otherwise, which is cleared once: what calls count or keep there decides "
    "later ones. Put it back before the call ends, or clear it in every call"
)


def returns_in_time(runs: Sequence[Run]) -> GateResult:
    """Every run came back before its time limit."""
    for run in runs:
        if run.result.fault_kind == "timed_out":
            return failed("returns_in_time", run, f"{where(run)}: {run.result.fault}")
    return passed("returns_in_time", runs)


def does_not_crash(runs: Sequence[Run]) -> GateResult:
    """The process that ran it is still there."""
    for run in runs:
        if run.result.fault_kind not in ("", "timed_out"):
            message = told(run, f": {run.result.fault}", _fault)
            return failed("does_not_crash", run, message)
    return passed("does_not_crash", runs)


def stays_in_its_buffers(runs: Sequence[Run]) -> GateResult:
    """Guard bands around every buffer, and gaps between strided elements, are untouched."""
    for run in runs:
        if run.result.overrun:
            message = told(run, " it wrote outside its buffers", _overrun)
            return failed("stays_in_its_buffers", run, message)
        if run.result.touched_gaps:
            names = ", ".join(run.result.touched_gaps)
            return failed(
                "stays_in_its_buffers", run, f"{where(run)} it wrote between rows of {names}"
            )
    return _untouched("stays_in_its_buffers", runs)


def leaves_inputs_alone(runs: Sequence[Run]) -> GateResult:
    """Inputs hold the same bytes after the run as before, and what a plan prepares once is so again
    for later calls."""
    for run in runs:
        if run.result.drifted:
            names = ", ".join(f"`{name}`" for name in run.result.drifted)
            return failed("leaves_inputs_alone", run, f"{where(run)} {DRIFTED.format(names)}")
        if run.result.changed_inputs:
            names = ", ".join(run.result.changed_inputs)
            return failed("leaves_inputs_alone", run, f"{where(run)} it changed {names}")
    return _untouched("leaves_inputs_alone", runs)


def is_right(runs: Sequence[Run]) -> GateResult:
    """Every output of every checked run agrees with the reference."""
    return _agrees("is_right", [r for r in runs if not r.timed])


def is_right_while_timed(runs: Sequence[Run]) -> GateResult:
    """The outputs of the timed launches agree with the reference as well, and were all there when
    the event behind them was reached."""
    timed = [run for run in runs if run.timed]
    for run in timed:
        if run.result.late:
            return failed("is_right_while_timed", run, f"{where(run)} {LATE}")
    return _agrees("is_right_while_timed", timed)


def _fault(run: Run) -> str:
    said = f"; {run.result.said}" if run.result.said else ""
    return f": {run.result.fault}{said}" if run.result.fault else ""


def _overrun(run: Run) -> str:
    return f" it wrote {run.result.overrun}" if run.result.overrun else ""


def _wrong(run: Run) -> str:
    wrong = _first_wrong(run)
    return "" if wrong is None else f": {wrong.message}"


def _first_wrong(run: Run) -> OutputVerdict | None:
    return next((verdict for verdict in run.verdicts if not verdict.right), None)


def _untouched(gate: str, runs: Sequence[Run]) -> GateResult:
    """Nothing was found; after a run that did not come back nobody has looked."""
    if runs and all(run.result.fault_kind for run in runs):
        return GateResult(gate=gate, outcome="skipped", message="no run came back")
    return passed(gate, runs)


def _agrees(gate: str, runs: Sequence[Run]) -> GateResult:
    if not runs:
        return GateResult(gate=gate, outcome="skipped", message="nothing was run")
    judged = [run for run in runs if run.verdicts]
    if not judged:
        return GateResult(gate=gate, outcome="skipped", message="no run left outputs to judge")
    largest = 0.0
    for run in judged:
        if (wrong := _first_wrong(run)) is not None:
            return _disagrees(gate, run, wrong)
        for verdict in run.verdicts:
            if verdict.allowed > 0:
                largest = max(largest, verdict.largest / verdict.allowed)
    return GateResult(
        gate=gate,
        outcome="passed",
        message=f"{len(judged)} runs, at most {largest:.0%} of the allowed error",
        evidence={"runs": len(judged), "share_of_allowed_error": round(largest, 4)},
    )


def _disagrees(gate: str, run: Run, wrong: OutputVerdict) -> GateResult:
    """A wrong output: what is known of it on the public seed, or else which one it is."""
    found = failed(gate, run, told(run, f": `{wrong.name}` is wrong", _wrong))
    public = None if run.public is None else _first_wrong(run.public)
    seen = {"name": wrong.name} if public is None else public.model_dump(mode="json")
    return found.model_copy(update={"evidence": found.evidence | seen})


FIRST_SET: tuple[Gate, ...] = (
    returns_in_time,
    does_not_crash,
    stays_in_its_buffers,
    leaves_inputs_alone,
    is_right,
    is_right_while_timed,
)
