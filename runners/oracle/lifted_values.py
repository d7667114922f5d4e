"""Expected values of what was read from a baseline, where that is the truth.

They hold as long as the baseline passes by them: what was read could have been misread.
"""

from __future__ import annotations

from typing import Final

from ..errors import ReferenceFailed
from .messages import Compute, Slots
from .served import ReferenceEnded, Served

LIFTED: Final = "what the baseline computes, read from its source and evaluated in fp64"
LIFT_S: Final = 0.3
"""what a seed may take: a search has a hundred of them, and each waits for it"""
FIRST_S: Final = 12.0
"""the same of a kernel's first, for which libraries are loaded and made ready"""


class LiftedValues:
    """Has them worked out by one process and taken by another."""

    def __init__(self, judge: Served, reference: Served) -> None:
        self._judge, self._reference = judge, reference
        self._begun = set[str]()

    def of(self, asked: Compute, fds: tuple[int, int]) -> tuple[bool, str]:
        """Have the values of a seed worked out, and taken by the judge if the baseline's outputs,
        which it has adopted, pass by them. `fds`: of the inputs, and of memory for the values.

        Returns whether they hold, which they do not where they cannot be worked out in time, or the
        baseline does not pass; and what the truth is, in words.
        """
        pool = asked.pool
        limit_s = LIFT_S if pool.kernel in self._begun else FIRST_S
        self._begun.add(pool.kernel)
        try:
            reply, _ = self._reference.ask("compute", asked, fds, limit_s)
        except ReferenceFailed as error:
            ended = isinstance(error, ReferenceEnded)
            return _refuted("it takes too long, or too much memory" if ended else error.message)
        slots = Slots(pool=pool.pool, slots=(asked.slot,))
        found, _ = self._judge.ask("expect", slots, fds[1:])
        if output := found["refuted"]:
            return _refuted(
                f"on `{pool.label}` the baseline's `{output}` is further from it than rounding "
                "explains"
            )
        return True, str(reply["where"])


def _refuted(why: str) -> tuple[bool, str]:
    return False, f"the baseline's own outputs; what was read from it is not used: {why}"
