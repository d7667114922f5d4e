"""Loops whose tensors grow: sequences that are computed anew, or copied, for each further token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ....runners.modules.common.messages import OpRow
from .base import Finder, Found, Opportunity, by_hand, dims

FEWEST_SIZES = 8
"""different sizes of one tensor at one line in one call of the module"""
BY_WEIGHTS = ("aten.mm", "aten.addmm", "aten.linear", "aten.convolution")
"""products of what is given with weights: of two tensors that grow (attention over a cache) each
pair is new"""


def recomputed(found: Found) -> Iterable[Opportunity]:
    """Products by weights with all rows so far, of which only the last ones are new."""
    groups = [ops for ops in _lines(found) if ops[0].op in BY_WEIGHTS and _sizes(ops, rows=True)]
    if not groups:
        return
    saved = sum(_old(ops, _sizes(ops, rows=True)) for ops in groups)
    us = sum(op.us for ops in groups for op in ops)
    yield by_hand(
        found,
        found.cost.without(saved),
        kind="recomputed",
        what=f"{sum(map(len, groups))} products take {us:.4g} us on rows that grow from round to "
        f"round, up to {max(max(_sizes(ops, rows=True)) for ops in groups)}; "
        f"{100 * saved / max(us, 1e-9):.0f} % of that was computed in the round before",
        how="keep what earlier rows gave (keys and values of a decoder) in room made before, and "
        "compute the new rows alone",
        where=tuple(dict.fromkeys(ops[0].line for ops in groups)),
    )


def grown_by_copies(found: Found) -> Iterable[Opportunity]:
    """A tensor that is copied whole for each row more."""
    groups = [ops for ops in _lines(found) if ops[0].op == "aten.cat" and _sizes(ops, rows=False)]
    if not groups:
        return
    saved = sum(_old(ops, _sizes(ops, rows=False)) for ops in groups)
    yield by_hand(
        found,
        found.cost.without(saved),
        kind="grown by copies",
        what=f"{sum(map(len, groups))} times torch.cat copies all that was and a little more: "
        f"{sum(op.us for ops in groups for op in ops):.4g} us",
        how="room for all of it before the loop, and a slice that is written in each round (a list "
        "and one torch.stack, where nothing reads it in between)",
        where=tuple(dict.fromkeys(ops[0].line for ops in groups)),
    )


def _lines(found: Found) -> list[list[OpRow]]:
    """Calls of one operator by one module at one line, in their order."""
    lines = defaultdict[tuple[str, str, str], list[OpRow]](list)
    for op in found.ops:
        if op.line:
            lines[op.line, op.op, op.module].append(op)
    return [ops for ops in lines.values() if len(ops) >= FEWEST_SIZES]


def _sizes(ops: Sequence[OpRow], *, rows: bool) -> list[int]:
    """The dimension that grows, as it is in each call; empty where none does. `rows`: of the one
    tensor that grows at all, and not its last dimension."""
    calls = [dims(op) for op in ops]
    if len({tuple(map(len, call)) for call in calls}) != 1:
        return []
    places = [(t, d) for t, shape in enumerate(calls[0]) for d in range(len(shape))]
    grown = [(t, d) for t, d in places if _grows([call[t][d] for call in calls])]
    if not grown or (rows and (len(grown) > 1 or grown[0][1] == len(calls[0][grown[0][0]]) - 1)):
        return []
    tensor, dimension = grown[0]
    return [call[tensor][dimension] for call in calls]


def _grows(sizes: Sequence[int]) -> bool:
    return list(sizes) == sorted(sizes) and len(set(sizes)) >= FEWEST_SIZES


def _old(ops: Sequence[OpRow], sizes: Sequence[int]) -> float:
    """Microseconds of what was there in the round before."""
    distinct = sorted(set(sizes))
    before = dict(zip(distinct, [0, *distinct], strict=False))
    return sum(op.us * before[size] / size for op, size in zip(ops, sizes, strict=True))


FINDERS: tuple[Finder, ...] = (recomputed, grown_by_copies)
