"""Other values than usual ones in calls that come as they do in a comparison.

A comparison times usual values, and checks of other values come one by one. So code that can tell
which of the two it is in (it counts its calls, finds buffers of several, or is bound to one core)
could take for known in the one what it reads in the other: a weight of ones, a largest value of a
row. Here a process is started, warmed up, and asked for samples of as many calls as there, and
between usual values lie some of all kinds.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from ..runners.gates.incumbent import Trial
from ..runners.protocol.pools import draw
from ..runners.specs.contract import BoundContract
from ..runners.specs.io_contract import StressKind
from .trials import Trials

AS_TIMED = "timed"
FEW = 8
"""seeds of a pool, up to which all but the first hold other values; of more it is half"""
Kinds = tuple[StressKind | None, ...]


def as_timed(
    trials: Trials, contract: BoundContract, kinds: Sequence[StressKind], calls: int
) -> list[Trial]:
    """A trial for each kind, and for the usual values between them, on a visible workload.

    `calls`: of a sample, as in the comparison. Kinds of which nobody knows what is expected are
    left out. Raises ProcessLost.
    """
    asked: list[StressKind] = [kind for kind in kinds if _name(kind, contract) not in trials.known]
    while asked:
        usual = draw(trials.kernel.kernel_id, contract, name=f"{contract.label}/promotion/timed")
        pool = replace(usual, kinds=hidden(asked, usual.slots))
        whats = [_name(kind, contract) for kind in pool.kinds]
        if found := trials.while_timed(whats, pool, calls):
            return found
        known: list[StressKind] = [
            kind for kind in asked if _name(kind, contract) not in trials.known
        ]
        if len(known) == len(asked):  # it is usual values that nobody can tell anything of
            break
        asked = known
    return []


def hidden(kinds: Sequence[StressKind], slots: int) -> Kinds:
    """Kinds by slot, in turn at places that are drawn: of the first, which warms up, and of half of
    the others usual values."""
    rng = secrets.SystemRandom()
    count = slots - 1 if slots <= FEW else slots // 2
    order = rng.sample(kinds, len(kinds))
    made = list[StressKind | None]([None] * slots)
    for number, slot in enumerate(rng.sample(range(1, slots), count)):
        made[slot] = order[number % len(order)]
    return tuple(made)


def _name(kind: StressKind | None, contract: BoundContract) -> str:
    return f"{AS_TIMED}, {f'values `{kind}`' if kind else 'usual values'} on `{contract.label}`"
