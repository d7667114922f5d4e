"""Expected values of what was read from a baseline, where that is the truth.

They hold as long as the baseline passes by them: what was read could have been misread.
"""

from __future__ import annotations

import time
from typing import Final

from ..errors import ReferenceFailed
from .messages import Compute, Slots
from .served import ReferenceEnded, Served

LIFTED: Final = "what the baseline computes, read from its source and evaluated in fp64"
AS_THE_KERNEL: Final = "as_the_kernel"
"""the function of what was read that computes as the baseline does: in its types, sums in turn"""
LIFT_S: Final = 0.3
"""what a seed of a workload may take: a search has a hundred of them, and each waits for it"""
MOVED_A_SECOND: Final = 250e6
"""bytes of a seed's inputs and outputs for which it may take a second, as a reference that somebody
has written takes it too: they are drawn, carried to the library and back, and widened"""
TRIES: Final = 3
"""of which the fastest counts: on a busy machine one tells of others"""
LATE_S: Final = 12.0
"""when one is given up; libraries are loaded and made ready for the first"""


class LiftedValues:
    """Has them worked out by one process and taken by another."""

    def __init__(self, judge: Served, reference: Served) -> None:
        self._judge, self._reference = judge, reference
        self._timed = set[str]()

    def of(self, asked: Compute, nbytes: int, fds: tuple[int, int]) -> tuple[bool, str]:
        """Have the values of a seed worked out, and taken by the judge if the baseline's outputs,
        which it has adopted, pass by them. `nbytes`: of a seed's inputs and outputs; `fds`: of the
        inputs, and of memory for the values.

        Returns whether they hold, which they do not where they cannot be worked out, take too long
        on the first seed of a pool, or the baseline does not pass; and what the truth is, in words.
        """
        pool = asked.pool
        try:
            reply, _ = self._reference.ask("compute", asked, fds, LATE_S)
            allowed = max(LIFT_S, nbytes / MOVED_A_SECOND)
            if pool.pool not in self._timed and self._seconds(asked, fds, allowed) > allowed:
                return _refuted("it takes too long for a check")
        except ReferenceFailed as error:
            ended = isinstance(error, ReferenceEnded)
            return _refuted("it takes too long, or too much memory" if ended else error.message)
        self._timed.add(pool.pool)
        slots = Slots(pool=pool.pool, slots=(asked.slot,))
        found, _ = self._judge.ask("expect", slots, fds[1:])
        if output := found["refuted"]:
            return _refuted(
                f"on `{pool.label}` the baseline's `{output}` is further from it than rounding "
                "explains"
            )
        return True, str(reply["where"])

    def _seconds(self, asked: Compute, fds: tuple[int, int], allowed: float) -> float:
        """What a seed takes that was worked out before, the fastest of a few."""
        least = LATE_S
        for _ in range(TRIES):
            began = time.monotonic()
            self._reference.ask("compute", asked, fds, LATE_S)
            least = min(least, time.monotonic() - began)
            if least <= allowed:
                break
        return least


def _refuted(why: str) -> tuple[bool, str]:
    return False, f"the baseline's own outputs; what was read from it is not used: {why}"
