"""The winner set: what is asked of a variant before it is announced or exported.

The best of many measurements is partly lucky (the winner's curse), so what counts is measured
anew: on fresh seeds and blocks, in a fresh process, and on workloads that no planner saw.
"""

from __future__ import annotations

from ..model import GateResult, Ratio


def is_faster_again(fresh: Ratio) -> GateResult:
    """Fresh blocks say `faster` on the visible workloads, too."""
    return _result(
        "is_faster_again",
        fresh.judgement == "faster",
        f"measured anew it is {told(fresh)}",
        {"speedup": fresh.speedup, "low": fresh.low, "high": fresh.high},
    )


def keeps_its_gain(first: float | None, fresh: Ratio, min_gain: float) -> GateResult:
    """How much of the first estimate is left: less is common, and said; it never blocks."""
    gate = "keeps_its_gain"
    if first is None:
        return GateResult(gate=gate, outcome="skipped", message="it was not measured before")
    evidence = {"first": first, "fresh": fresh.speedup, "shrink": round(shrink(first, fresh), 4)}
    message = f"first {first:.4g}x, anew {fresh.speedup:.4g}x"
    if shrink(first, fresh) > 0:
        message += f", {shrink(first, fresh):.1%} less"
    if fresh.speedup < 1 + min_gain:
        message += f"; the gain is below min_gain {min_gain:.1%} now"
        return GateResult(gate=gate, outcome="note", message=message, evidence=evidence)
    outcome = "passed" if first <= fresh.high else "note"
    return GateResult(gate=gate, outcome=outcome, message=message, evidence=evidence)


def is_not_slower_on_held_out_workloads(held_out: Ratio | None) -> GateResult:
    """Workloads that no planner saw are not slower."""
    gate = "is_not_slower_on_held_out_workloads"
    if held_out is None:
        return GateResult(gate=gate, outcome="skipped", message="no workload is held out")
    evidence = {"speedup": held_out.speedup, "low": held_out.low, "high": held_out.high}
    return _result(gate, held_out.judgement != "slower", told(held_out), evidence)


def shrink(first: float, fresh: Ratio) -> float:
    """The share of the first speedup that is gone; negative: there is more."""
    return 1 - fresh.speedup / first


def told(ratio: Ratio) -> str:
    """A ratio for people."""
    judged = f"{ratio.judgement}{ratio.placement_words}"
    return f"{ratio.speedup:.3g}x ({ratio.low:.3g} to {ratio.high:.3g}, {judged})"


def _result(gate: str, good: bool, message: str, evidence: dict[str, float]) -> GateResult:
    outcome = "passed" if good else "failed"
    return GateResult(gate=gate, outcome=outcome, message=message, evidence=dict(evidence))
