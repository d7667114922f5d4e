"""The incumbent set: what a variant goes through before it may become the incumbent.

All of it is calibrated by the baseline: what the baseline itself does not hold to is not asked of
a candidate, and the result says so. A `Trial` is the runs on one further input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model import Ending, GateResult
from ..oracle.messages import OutputVerdict
from .endings import ending_of
from .first import FIRST_SET
from .runs import Run, first_failure

Runs = Sequence[Run]
FRESH, ANEW, PLACES, SHAPES, VALUES, STRESS, TIMED_VALUES = (
    "works_in_a_fresh_process",
    "computes_anew",
    "works_wherever_its_buffers_lie",
    "works_on_other_shapes",
    "works_on_other_values",
    "survives_stress",
    "works_on_other_values_while_timed",
)
_RIGHT = frozenset({"is_right", "is_right_while_timed"})
STRESS_SLACK = 4.0
"""Under stress an honest sum in another order may be some times worse than the baseline's: four
times its error is still the same quality, a lost compensation costs orders of magnitude."""

NO_ANSWER = 0.1
"""RMS error, as a share of the truth's own (of integers: the share that differ), from which on a
wrong baseline says nothing of what could be asked. Below it, it is roughly right, and a candidate
has to be so, too: an edge that the baseline gets wrong must not hide one that computes nothing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The runs of a candidate on one further input: a shape, or values of one kind."""

    what: str
    """of the input, for people: "stress `zeros`" """
    runs: tuple[Run, ...]
    baseline: tuple[Run, ...] = ()
    """the baseline's runs on it; empty: nobody asked, as the candidate failed nothing"""


def trial_failure(runs: Runs) -> GateResult | None:
    """What of the first set these runs fail."""
    return first_failure([gate(runs) for gate in FIRST_SET])


def fault_of(trial: Trial, slack: float = 1.0) -> tuple[GateResult | None, str]:
    """What the candidate fails in a trial, and why that is not asked of it ("": it is).

    `slack`: an error up to so many times the baseline's is excused.
    """
    failed = trial_failure(trial.runs)
    if failed is None or not trial.baseline:
        return failed, ""
    theirs = trial_failure(trial.baseline)
    wrong = failed.gate in _RIGHT
    if theirs is not None and wrong and _roughly_right(trial.baseline):
        near = f"within {STRESS_SLACK:g} times the error of the baseline, which is wrong, too"
        return failed, near if _no_worse(trial, STRESS_SLACK) else ""
    if theirs is not None and (theirs.gate == failed.gate or wrong):
        return failed, f"the baseline fails it, too: {theirs.message}"
    if wrong and slack > 1 and _no_worse(trial, slack):
        return failed, f"within {slack:g} times the baseline's own error"
    return failed, ""


def holds(
    gate: str,
    trials: Sequence[Trial],
    slack: float = 1.0,
    not_asked: Mapping[str, str] | None = None,
    means: Mapping[str, Ending] | None = None,
) -> GateResult:
    """The candidate holds in every trial in which the baseline does.

    `not_asked`: trials that were not made, and why. `means`: how a failure ends, by the gate of the
    first set that it fails, where that is not as usual.
    """
    asked, excused = list[str](), dict(not_asked or {})
    for trial in trials:
        failed, excuse = fault_of(trial, slack)
        if failed is not None and not excuse:
            ending = (means or {}).get(failed.gate) or ending_of(failed)
            evidence = {"trial": trial.what, "failed": failed.gate, "ending": ending.value}
            return GateResult(
                gate=gate,
                outcome="failed",
                message=f"{trial.what}: {failed.message}",
                evidence=evidence | failed.evidence,
            )
        if excuse:
            excused[trial.what] = excuse
        else:
            asked.append(trial.what)
    return _held(gate, asked, excused)


def excused(found: GateResult, baseline: GateResult | None) -> GateResult:
    """What a tool found, as a note where it finds the same kind of thing in the baseline."""
    if found.outcome != "failed" or baseline is None or baseline.outcome != "failed":
        return found
    message = f"{found.message}; so does the baseline ({baseline.message}): not asked"
    return found.model_copy(update={"outcome": "note", "message": message})


def refused_build(message: str, ending: Ending) -> GateResult:
    """A variant that does not build for a legal shape, where the baseline does."""
    return GateResult(
        gate=SHAPES,
        outcome="failed",
        message=f"it does not build for another legal shape: {message}",
        evidence={"failed": "build", "ending": ending.value},
    )


def other_code() -> GateResult:
    """A variant whose build for further shapes is not what was timed, though no shape is in it."""
    return GateResult(
        gate=SHAPES,
        outcome="failed",
        message="built anew it is other machine code, though nothing else was asked for: what it "
        "includes or embeds changes from build to build (a time, a counter of the system)",
        evidence={"failed": "build", "ending": Ending.rejected.value},
    )


def skipped(gate: str, why: str) -> GateResult:
    """A gate for which there is nothing to run."""
    return GateResult(gate=gate, outcome="skipped", message=why)


def is_deterministic(candidate: Runs, *, asked: bool, baseline_is: bool = True) -> GateResult:
    """The same input gave the same bits in every run, where the contract asks for that and the
    baseline is so.

    Runs of the same slot of a pool with the same poison have the same input: gaps between
    strided elements belong to an output's bits and hold the poison.
    """
    gate = "is_deterministic"
    if not asked:
        return skipped(gate, "the contract says `deterministic: false`")
    repeated, found = _repeats(candidate)
    if found is None:
        if not repeated:
            return skipped(gate, "no input was run twice")
        return GateResult(
            gate=gate,
            outcome="passed",
            message=f"{repeated} inputs gave the same bits each time",
            evidence={"inputs": repeated, "runs": len(candidate)},
        )
    (number, first), (other_number, other) = found
    message = (
        f"the same input (`{first.shape}`, slot {first.result.slot}) gave other bits in run "
        f"{other_number} ({_how(other)}) than in run {number} ({_how(first)})"
    )
    evidence = {
        "shape": first.shape,
        "slot": first.result.slot,
        "runs": [number, other_number],
    }
    if not baseline_is:
        message += "; the baseline itself is not deterministic, so this is not asked"
        return GateResult(gate=gate, outcome="note", message=message, evidence=evidence)
    message += "; a contract with `deterministic: false` would allow it"
    return GateResult(gate=gate, outcome="failed", message=message, evidence=evidence)


def gives_several_results(runs: Runs) -> bool:
    """Whether the same input gave different bits."""
    return _repeats(runs)[1] is not None


Numbered = tuple[int, Run]


def _repeats(runs: Runs) -> tuple[int, tuple[Numbered, Numbered] | None]:
    """How many inputs were run more than once, and two runs that differ."""
    first, again = dict[tuple[str, int, int], Numbered](), set[tuple[str, int, int]]()
    for number, run in enumerate(runs, 1):
        result = run.result
        if not result.digest:
            continue
        key = (run.pool or run.shape, result.slot, result.poison)
        known = first.setdefault(key, (number, run))
        if known[0] == number:
            continue
        again.add(key)
        if known[1].result.digest != result.digest:
            return len(again), (known, (number, run))
    return len(again), None


def _how(run: Run) -> str:
    return "timed" if run.timed else "checked"


def _held(gate: str, asked: Sequence[str], excused: dict[str, str]) -> GateResult:
    evidence = {"asked": list(asked), "not_asked": excused}
    if not excused:
        outcome = "passed" if asked else "skipped"
        return GateResult(gate=gate, outcome=outcome, message=", ".join(asked), evidence=evidence)
    why = "; ".join(f"{what}: {excuse}" for what, excuse in excused.items())
    message = f"held: {', '.join(asked) or 'none'}; not asked: {why}"
    return GateResult(gate=gate, outcome="note", message=message, evidence=evidence)


def _no_worse(trial: Trial, slack: float) -> bool:
    """Whether each wrong output is at most `slack` times as far off as the baseline's."""
    theirs = {(r.shape, r.result.slot, r.result.again): r.verdicts for r in trial.baseline}
    for run in trial.runs:
        known = theirs.get((run.shape, run.result.slot, run.result.again), ())
        if len(known) != len(run.verdicts):
            return False
        pairs = zip(run.verdicts, known, strict=True)
        if not all(mine.right or _near(mine, other, slack) for mine, other in pairs):
            return False
    return True


def _roughly_right(runs: Runs) -> bool:
    """Whether all outputs of these runs are at least an approximation of what they should be."""
    clean = all(run.verdicts and not run.result.fault for run in runs)
    return clean and all(v.right or v.rms < NO_ANSWER for run in runs for v in run.verdicts)


def _near(mine: OutputVerdict, other: OutputVerdict, slack: float) -> bool:
    finite = math.isfinite(mine.largest) and math.isfinite(mine.rms)
    return finite and mine.largest <= slack * other.largest and mine.rms <= slack * other.rms
