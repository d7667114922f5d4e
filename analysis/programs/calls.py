"""What a winner in an operator's place can gain, with what its calls cost: told before a search.

A program takes as long as the slower of two: T = max(host, device). A winner's call takes its own
time on the host however fast its kernel is, so where the host is the slower one (an eager program
of small operators) a faster kernel gains nothing, and its calls may cost more than they did.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...runners.recording.operators.call_cost import CallCost
from ...runners.recording.operators.seen import SeenOperator, SeenOperators
from .gains import amdahl


@dataclass(frozen=True, slots=True)
class Calls:
    """All calls of operators that a program made, in microseconds: on the host until they returned,
    and of the GPU, as estimated from what waiting for each took longer than for an empty kernel."""

    host_us: float
    gpu_us: float
    cost: CallCost

    @property
    def host_bound(self) -> bool:
        """Whether the GPU waits for the host."""
        return self.host_us > self.gpu_us


def calls_of(found: SeenOperators, cost: CallCost | None) -> Calls | None:
    """None where no cost is known, or a recording is of before times of the host were kept."""
    rows = [each for each in found.rows if each.ns]
    if cost is None or not rows or not all(each.host_ns for each in rows):
        return None
    host = sum(each.host_ns for each in rows) / 1e3
    return Calls(host, sum(each.count * gpu_us(each, cost) for each in rows), cost)


def gpu_us(seen: SeenOperator, cost: CallCost) -> float:
    """Of one call: its time on the GPU, beyond what waiting for an empty kernel takes."""
    if seen.device == "cpu" or not seen.count:
        return 0.0
    return max(0.0, (seen.ns - seen.host_ns) / seen.count / 1e3 - cost.wait_us)


def gain_at(seen: SeenOperator, found: SeenOperators, calls: Calls, speed: float) -> float:
    """How many times as fast all operators get when this one's kernel becomes `speed` times as fast
    (infinite: it takes no time): below 1 where the calls cost more than that gains. Other calls of
    the same operator are looked at by the winner, and cost more as well."""
    cost, on_gpu = calls.cost, seen.device != "cpu"
    own_us, kernel_us = seen.host_ns / seen.count / 1e3, gpu_us(seen, cost)
    work = 0.0 if on_gpu else max(0.0, own_us - cost.operator_us)
    new_us = cost.winner_us + work / speed
    others = sum(e.count for e in found.rows if e.operator == seen.operator) - seen.count
    looks = others * max(0.0, cost.elsewhere_us - cost.operator_us)
    host = calls.host_us + seen.count * (new_us - own_us) + looks
    device = calls.gpu_us - seen.count * kernel_us * (1 - 1 / speed)
    return max(calls.host_us, calls.gpu_us) / max(host, device)


def most_gain(seen: SeenOperator, found: SeenOperators, calls: Calls | None) -> float:
    """With a kernel that takes no time. Where no cost is known by Amdahl's law alone."""
    if calls is not None and seen.host_ns:
        return gain_at(seen, found, calls, math.inf)
    return amdahl(min(seen.ns / found.ns, 0.999) if found.ns else 0.0, math.inf)


def why_no_gain(seen: SeenOperator, found: SeenOperators, calls: Calls | None) -> str:
    """Why no kernel in its place makes the program faster; empty: one may."""
    if calls is None or not seen.host_ns or (gain := most_gain(seen, found, calls)) > 1:
        return ""
    own_us, cost = seen.host_ns / seen.count / 1e3, calls.cost
    bound = "" if seen.device == "cpu" or not calls.host_bound else (
        f"the host bounds the program (its operators take {calls.host_us / 1e3:.1f} ms there, "
        f"{calls.gpu_us / 1e3:.1f} ms of the GPU): "
    )  # fmt: skip
    return (
        f"{bound}a call takes {own_us:.1f} us of the host, and one of a winner "
        f"{cost.winner_us:.1f} us before its kernel does anything ({gain:.3f}x at best)"
    )
