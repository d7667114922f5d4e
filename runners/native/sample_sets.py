"""How many calls a timed sample has, on which sets of buffers, and with which seeds."""

from __future__ import annotations

import random
from itertools import chain

from ..protocol.arena_values import InputPool
from ..protocol.messages import Block

WARM_UP_SLOT = 0
DRAWN = random.SystemRandom()


def usual_seeds(message: Block, pool: InputPool) -> list[int]:
    """The seeds that calls have which get no hidden one; none is that of the warm-up."""
    kept = {WARM_UP_SLOT, *chain(*message.hidden)}
    return [slot for slot in range(pool.slots) if slot not in kept]


def calls_of(message: Block, pool: InputPool, variant: str) -> int:
    """The most calls of a sample; each set needs a seed that no warm-up has seen."""
    return max(1, min(message.calls.get(variant, 1), len(usual_seeds(message, pool)) - 1))


def sets_of(calls: int) -> int:
    """Sets of buffers of a sample: one more than calls, where there are several."""
    return calls + (calls > 1)


def drawn_calls(calls: int) -> tuple[int, ...]:
    """Which sets of a sample are called: all but one or two, drawn anew each time."""
    if calls == 1:
        return (0,)
    left_out = DRAWN.sample(range(sets_of(calls)), DRAWN.choice((1, 2)))
    return tuple(index for index in range(sets_of(calls)) if index not in left_out)
