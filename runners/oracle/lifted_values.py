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


def lifted_values(
    judge: Served, reference: Served, asked: Compute, fds: tuple[int, int], *, first: bool
) -> tuple[bool, str]:
    """Have the values of a seed worked out, and taken by the judge if the baseline's outputs, which
    it has adopted, pass by them. `fds`: of the inputs, and of memory for the values. `first`: none
    was worked out for this kernel before.

    Returns whether they hold, which they do not where they cannot be worked out, or the baseline
    does not pass; and what the truth is, in words.
    """
    pool = asked.pool
    try:
        reply, _ = reference.ask("compute", asked, fds, FIRST_S if first else LIFT_S)
    except ReferenceFailed as error:
        ended = isinstance(error, ReferenceEnded)
        return _refuted("it takes too long, or too much memory" if ended else error.message)
    found, _ = judge.ask("expect", Slots(pool=pool.pool, slots=(asked.slot,)), fds[1:])
    if output := found["refuted"]:
        return _refuted(
            f"on `{pool.label}` the baseline's `{output}` is further from it than rounding explains"
        )
    return True, str(reply["where"])


def _refuted(why: str) -> tuple[bool, str]:
    return False, f"the baseline's own outputs; what was read from it is not used: {why}"
