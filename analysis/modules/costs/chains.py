"""Neighbours that only move memory, as one kernel each: what a compiler makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....runners.modules.common.messages import OpRow

ALONE = frozenset(
    "aten.sort aten.topk aten.cumsum aten.scatter aten.scatter_ aten.scatter_add aten.scatter_add_ "
    "aten.index_add aten.index_add_ aten.index_put aten.index_put_ aten._unique2 aten.nonzero "
    "aten.bincount aten.histc aten.multinomial aten.scatter_reduce aten.masked_select "
    "aten._local_scalar_dense aten.searchsorted aten.bucketize".split()
)
"""operators that stay what they are: atomics, sorts, and results whose size hangs on values"""


def is_chained(op: OpRow) -> bool:
    """Whether an operator moves memory and does little else, and can be part of a chain."""
    return not op.flops and op.op not in ALONE


def chains_of(ops: Sequence[OpRow]) -> list[list[OpRow]]:
    """Runs of neighbours of which all are chained, in their order; a single one is a chain too."""
    chains, run = list[list[OpRow]](), list[OpRow]()
    for op in ops:
        if is_chained(op):
            run.append(op)
            continue
        if run:
            chains.append(run)
        run = []
    return chains + ([run] if run else [])


def chain_bytes(chain: Sequence[OpRow], later: Iterable[OpRow]) -> int:
    """What one kernel in place of the chain moves: what comes from outside, each byte once, and
    what is read later or not read by the chain itself (results)."""
    made, needed = set[int](), dict[tuple[int, int], int]()
    for op in chain:
        for storage, offset, size in op.reads:
            if storage not in made:
                place = (storage, offset)
                needed[place] = max(needed.get(place, 0), size)
        made |= {storage for storage, _, _ in op.writes}
    wanted = {storage for op in later for storage, _, _ in op.reads}
    within = {storage for op in chain for storage, _, _ in op.reads}
    written = dict[tuple[int, int], int]()
    for op in chain:
        for storage, offset, size in op.writes:
            if storage in wanted or storage not in within:
                place = (storage, offset)
                written[place] = max(written.get(place, 0), size)
    return sum(needed.values()) + sum(written.values())
