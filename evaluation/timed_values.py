"""Other values than usual ones in calls that come as they do in a comparison.

A comparison times usual values, and checks of other values come one by one. So code that can tell
which of the two it is in (it counts its calls, goes by addresses, looks at the buffers of other
calls, or is bound to one core) could take for known in the one what it reads in the other: a weight
of ones, a largest value of a row. So the process that has timed it is asked for samples of as many
calls once more, in the memory where it was timed, and a call or two of each get other values.
Nothing but its own inputs tells such a call from the others: what lies beside it is as usual.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..runners.gates.incumbent import Trial
from ..runners.protocol.pools import draw
from ..runners.specs.contract import BoundContract
from ..runners.specs.io_contract import StressKind
from .trials import Trials

AS_TIMED = "timed"
LONGEST_S = 0.5
"""of all calls of a workload; where a sample for each kind takes longer, several share one"""
Kinds = tuple[StressKind | None, ...]
Hidden = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pace:
    """How a variant was timed on a workload."""

    calls: int
    """of a sample"""
    call_s: float


def as_timed(
    trials: Trials, contract: BoundContract, kinds: Sequence[StressKind], pace: Pace
) -> list[Trial]:
    """A trial for each kind, and for the usual values between them, on a visible workload.

    Kinds of which nobody knows what is expected are left out. Raises ProcessLost.
    """
    asked: list[StressKind] = [kind for kind in kinds if _name(kind, contract) not in trials.known]
    usual = draw(trials.kernel.kernel_id, contract, name=f"{contract.label}/promotion/timed")
    while asked:
        shared = samples(asked, usual.slots, pace)
        several: list[StressKind | None] = [None] * usual.slots
        several += secrets.SystemRandom().sample(asked, sum(map(len, shared)))
        seeds = draw(usual.kernel, contract, name=usual.pool, slots=len(several)).seeds
        pool = replace(usual, seeds=seeds, kinds=tuple(several))
        whats = [_name(kind, contract) for kind in pool.kinds]
        if found := trials.while_timed(whats, pool, pace.calls, shared):
            return found
        known: list[StressKind] = [
            kind for kind in asked if _name(kind, contract) not in trials.known
        ]
        if len(known) == len(asked):  # it is usual values that nobody can tell anything of
            break
        asked = known
    return []


def samples(kinds: Sequence[StressKind], usual: int, pace: Pace) -> Hidden:
    """The slots behind the `usual` ones, for each sample those that it hides: one, where there is
    time for as many samples as kinds, and never as many as it has calls, unless it has one."""
    sample_s = max(1e-9, pace.calls * pace.call_s)
    count = max(1, min(len(kinds), int(LONGEST_S / sample_s)))
    most = count * max(1, min(pace.calls - 1, math.ceil(len(kinds) / count)))
    slots = range(usual, usual + min(len(kinds), most))
    return tuple(tuple(slots[number::count]) for number in range(count))


def _name(kind: StressKind | None, contract: BoundContract) -> str:
    return f"{AS_TIMED}, {f'values `{kind}`' if kind else 'usual values'} on `{contract.label}`"
