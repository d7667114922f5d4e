"""A winner's times beside those of its baseline and of an expert, each from one and the same
measurement; pure functions of a confirmation.

What the baseline took alone, when it was opened, is another measurement: how many calls make a
sample, and so how much memory takes turns in the caches, follows from the fastest side.
"""

from __future__ import annotations

from ...runners.model import Comparison, WorkloadTimes
from ...store.records import Confirmation


def baseline_beside(found: Comparison | None, baseline: str) -> dict[str, float]:
    """Median milliseconds of the baseline in a comparison, by workload; empty where it took no
    part."""
    rows = () if found is None else found.workloads
    return {w.workload: w.median_ms[baseline] for w in rows if baseline in w.median_ms}


def candidate_ms(found: Comparison | None) -> dict[str, float]:
    """Median milliseconds of who was compared, by workload; empty where nobody was."""
    return {} if found is None else found.median_ms


def before_and_after(found: Confirmation, baseline: str) -> str:
    """`square 76.1 ms, now 1.44 ms`, of each visible workload; empty where it was not timed."""
    before = baseline_beside(found.visible, baseline)
    now = candidate_ms(found.visible) if before else {}
    return "; ".join(f"{name} {before[name]:.4g} ms, now {ms:.4g} ms" for name, ms in now.items())


def beside_reference(found: Confirmation, baseline: str) -> str:
    """How the winner compares with its reference, where that is faster than the baseline: then it
    is an expert's, such as a library that numpy calls. Empty where it is not, or was not timed.

    Both with warm caches where the winner was timed so.
    """
    if found.reference is None or found.visible is None:
        return ""
    told = list[str]()
    for each in found.visible.workloads:
        took, before = found.reference.ms.get(each.workload), _warm(each, baseline)
        if took is not None and took < before:
            now = _warm(each, found.visible.candidate)
            told.append(
                f"{took:.4g} ms on `{each.workload}` (the winner {now:.4g} ms, {took / now:.3g}x "
                "as fast)"
            )
    return (
        f"the reference ({found.reference.where}) takes at best {', '.join(told)}" if told else ""
    )


def _warm(times: WorkloadTimes, side: str) -> float:
    return times.hot_ms.get(side, times.median_ms[side])
