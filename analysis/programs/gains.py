"""What a faster kernel can gain a program: Amdahl's law, told before anything is searched for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .groups import Group, Grouped

COVERED = 0.9


@dataclass(frozen=True, slots=True)
class Share:
    """A group with what it is of the whole."""

    group: Group
    share: float
    """of the GPU's time in kernels, or of all launches where no times are known"""
    covered: float
    """with all groups before it"""
    most_gain: float
    """of the GPU's time, if this kernel took no time at all"""
    gain_if_twice: float
    """if it were twice as fast"""


def amdahl(share: float, speedup: float) -> float:
    """How many times as fast the whole is when a `share` of it (0 to 1) becomes `speedup` times
    as fast (G. M. Amdahl, 1967). Infinite where all of it takes no time."""
    left = 1 - share + share / speedup
    return math.inf if left <= 0 else 1 / left


def shares(found: Grouped) -> tuple[Share, ...]:
    """Every group's share, the largest first."""
    by_time = found.total_ns > 0
    weights = [g.sum_ns if by_time else float(g.count) for g in found.groups]
    total = found.total_ns if by_time else sum(weights)
    ordered = sorted(zip(weights, found.groups, strict=True), key=lambda pair: -pair[0])
    made, before = list[Share](), 0.0
    for weight, group in ordered:
        share = weight / total if total else 0.0
        before += share
        made.append(
            Share(group, share, min(before, 1.0), amdahl(share, math.inf), amdahl(share, 2))
        )
    return tuple(made)


def representative(found: Sequence[Share], covered: float = COVERED) -> tuple[Share, ...]:
    """The fewest groups that together make `covered` of the whole (or of what can be reached)."""
    chosen, so_far = list[Share](), 0.0
    for each in found:
        if so_far >= covered:
            break
        chosen.append(each)
        so_far += each.share
    return tuple(chosen)
