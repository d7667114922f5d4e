"""Rows of tables: one-hot products, gathered rows that are summed, and products on rows that were
gathered out of fewer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....runners.modules.common.messages import OpRow
from .base import Finder, Found, Opportunity, by_hand, dims, places

GATHERS = ("aten.index", "aten.index_select", "aten.embedding", "aten.gather")
SUMS = ("aten.sum", "aten.mean")
SUMS_BY_INDEX = (
    "aten.index_add_", "aten.index_add", "aten.scatter_add_", "aten.scatter_add",
    "aten.scatter_reduce_", "aten.scatter_reduce",
)  # fmt: skip
ZEROS = ("aten.zeros", "aten.zeros_like", "aten.new_zeros")
PASSES_ON = ("aten._to_copy", "aten.clone", "aten.cat")
"""what they make is still made of gathered rows"""
LEAST_REPEATED = 1.5
"""gathered bytes over those of the table, from which a product belongs before the gather"""
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class _Gathered:
    """A tensor of gathered rows."""

    repeats: float
    """of each row of the table"""
    size: int
    """bytes: a product with a part of it may have weights of its own, as experts have"""


def one_hot(found: Found) -> Iterable[Opportunity]:
    """Products with rows of zeros that have a one."""
    hot, made, products = set[int](), list[OpRow](), list[OpRow]()
    zeros = dict[int, OpRow]()
    for op in found.ops:
        if op.op in ZEROS:
            zeros.update(dict.fromkeys(_written(op), op))
        if _makes_one_hot(op) or (op.op in PASSES_ON and hot & _read(op)):
            hot |= _written(op)
            made += [op, *(zeros.pop(s) for s in _written(op) if s in zeros)]
        elif op.flops and hot & _read(op):
            products.append(op)
        else:
            hot -= _written(op)
    if not products:
        return
    us = sum(op.us for op in (*made, *products))
    lookups = sum(found.cost.copy_us(2 * _bytes(op)) for op in products)
    yield by_hand(
        found,
        found.cost.without(max(0.0, us - lookups)),
        kind="one-hot",
        what=f"{len(products)} products with one-hot rows, and the rows themselves, take {us:.4g} "
        "us to read rows of a table",
        how="F.embedding(index, table), or table[index]",
        where=places(products),
    )


def bag(found: Found) -> Iterable[Opportunity]:
    """Rows that are gathered, written, and summed by the next operator."""
    pairs, gathered = list[tuple[OpRow, OpRow]](), dict[int, OpRow]()
    for op in found.ops:
        if op.op in SUMS:
            pairs += [(gathered[s], op) for s in _read(op) if s in gathered]
        for storage in _read(op) | _written(op):
            gathered.pop(storage, None)
        if op.op == "aten.embedding":
            gathered.update(dict.fromkeys(_written(op), op))
    if not pairs:
        return
    us = sum(a.us + b.us for a, b in pairs)
    then = sum(found.cost.copy_us(_bytes(a) + _bytes(b)) for a, b in pairs)
    told = by_hand(
        found,
        found.cost.without(max(0.0, us - then)),
        kind="bag",
        what=f"{len(pairs)} times rows of a table are written to be summed at once: {us:.4g} us",
        how='F.embedding_bag(index, table, mode="sum" or "mean")',
        where=places([a for a, _ in pairs]),
    )
    yield told.model_copy(update={"error_class": "fp32 rounding"})


def gathered_products(found: Found) -> Iterable[Opportunity]:
    """Products whose rows were gathered out of fewer: each was multiplied several times."""
    gathered, products, saved = dict[int, _Gathered](), list[OpRow](), 0.0
    for op in found.ops:
        whole = [g for s, _, size in op.reads if (g := gathered.get(s)) and size >= g.size]
        own = max((each.repeats for each in whole), default=1.0)
        if op.flops and own > 1:
            products.append(op)
            saved += op.us * (1 - 1 / own)
        for storage in _written(op):
            gathered.pop(storage, None)
        made = _repeats(op) if op.op in GATHERS else own if op.op in PASSES_ON else 1.0
        if made >= LEAST_REPEATED:
            gathered.update({s: _Gathered(made, size) for s, _, size in op.writes})
    if not products:
        return
    us = sum(op.us for op in products)
    told = by_hand(
        found,
        found.cost.without(saved),
        kind="gathered product",
        what=f"{len(products)} products take {us:.4g} us on rows that were gathered: each row of "
        f"the table is there {us / max(us - saved, 1e-9):.3g} times",
        how="multiply the table's rows and gather the results: a linear layer of two gathered "
        "parts is the sum of two products",
        where=places(products),
    )
    yield told.model_copy(update={"error_class": "fp32 rounding"})


def sums_by_index(found: Found) -> Iterable[Opportunity]:
    """Sums at places that an index names: on a GPU atomics that collide."""
    ops = [op for op in found.ops if op.op in SUMS_BY_INDEX]
    us = sum(op.us for op in ops)
    if us < LEAST_SHARE * found.cost.busy_us or not ops:
        return
    roof = sum(min(op.us, found.cost.copy_us(op.bytes)) for op in ops)
    told = by_hand(
        found,
        found.cost.without(us - roof),
        kind="sums by index",
        what=f"{len(ops)} sums by index take {us:.4g} us; copies of as many bytes take {roof:.4g}",
        how="sort by target once, then sum neighbours (segment_reduce, a sparse product): no "
        "atomics, and the same bits each time",
        where=places(ops),
    )
    yield told.model_copy(update={"error_class": "fp32 rounding"})


def _makes_one_hot(op: OpRow) -> bool:
    """A constant that is scattered to one place of each row."""
    shapes = dims(op)
    return (
        op.op in ("aten.scatter_", "aten.scatter")
        and len(shapes) == 2
        and shapes[1][-1] == 1
        and shapes[0][-1] > 1
    )


def _repeats(op: OpRow) -> float:
    """How often each byte of the table is in what was gathered."""
    return _bytes(op) / max(op.reads[0][2], 1) if op.reads else 1.0


def _bytes(op: OpRow) -> int:
    return sum(size for _, _, size in op.writes)


def _read(op: OpRow) -> set[int]:
    return {storage for storage, _, _ in op.reads}


def _written(op: OpRow) -> set[int]:
    return {storage for storage, _, _ in op.writes}


FINDERS: tuple[Finder, ...] = (one_hot, bag, gathered_products, sums_by_index)
