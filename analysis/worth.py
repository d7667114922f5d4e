"""What a search of a kernel could save: its weight times the share of its time above the floor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..runners.model import Record
from .roofline import WorkloadRoofline


class Worth(Record):
    """Of one of several kernels; 1 weight is as much of the whole as each other kernel's."""

    weight: float
    above: float | None
    """share of its time above the floor, 0 to 1; None: no floor is known"""

    @property
    def score(self) -> float:
        """What its order goes by. Where no floor is known all of its time may be saved."""
        return self.weight * (1.0 if self.above is None else self.above)

    def describe(self) -> str:
        """`worth 1.6: weight 2, 80 % of its time above the floor`."""
        above = (
            "no floor of its time is known"
            if self.above is None
            else f"{100 * self.above:.0f} % of its time above the floor"
        )
        return f"worth {self.score:.3g}: weight {self.weight:g}, {above}"


def above_floor(
    rooflines: Sequence[WorkloadRoofline], weights: Mapping[str, float]
) -> float | None:
    """The share of a kernel's time that lies above the floor, the mean over workloads by their
    weights; None where none has a floor. `weights`: by workload."""
    known = [(weights[r.workload], r.roofline.headroom) for r in rooflines]
    shares = [(w, 1 - 1 / max(h, 1.0)) for w, h in known if h is not None]
    total = math.fsum(w for w, _ in shares)
    return math.fsum(w * share for w, share in shares) / total if total else None
