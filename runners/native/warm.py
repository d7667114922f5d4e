"""Samples with warm caches: one call over and over on the same buffers, as a user's loop has it.

Code could remember the answer, so no verdict rests on these times; what they tell beside the others
is how much of a speedup is left, or gained, where data need not come from memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..protocol.messages import SideTimes
from ..specs.contract import BoundContract
from .executor import Executor

Samples = dict[str, list[tuple[float, float]]]


def repeatable(contract: BoundContract) -> bool:
    """Whether a call on what the one before it left does the same work: nothing is read and written
    in place."""
    return all(array.argument.role != "inout" for array in contract.arrays)


def warm_samples(
    executors: Mapping[str, Executor],
    rounds: Sequence[Sequence[str]],
    calls: Mapping[str, int],
    timeout_s: float,
) -> list[SideTimes]:
    """Of each side the nanoseconds a call, a sample for each round that it takes part in.

    Right before a sample as many calls are made untimed: other sides have had the caches since.
    Raises ExecutorLost.
    """
    taken: Samples = {side: [] for side in executors}
    for order in rounds:
        for side in order:
            executor, repeated = executors[side], (0,) * max(1, calls.get(side, 1))
            executor.run(repeated, timeout_s * len(repeated))
            before = executor.spent()
            elapsed = executor.run(repeated, timeout_s * len(repeated))
            taken[side].append((elapsed / len(repeated), executor.held_up(before, elapsed)))
    return [
        SideTimes(
            variant=side,
            nanoseconds=tuple(ns for ns, _ in samples),
            disturbed=tuple(share for _, share in samples),
        )
        for side, samples in taken.items()
    ]
