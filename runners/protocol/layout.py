"""Where arrays lie in shared memory: records of inputs and outputs, and guarded arenas.

A *record* is all inputs (or all outputs) of one seed, one after the other. An *arena* is
what a variant sees: `sets` copies of all arrays, every array between two guard bands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..specs.contract import BoundArgument, BoundContract

CACHE_LINE = 64
PAGE = 4096
GUARD = PAGE


@dataclass(frozen=True, slots=True)
class Slot:
    """`nbytes` of an array at `offset`."""

    name: str
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Record:
    """Arrays one after the other, each on a cache line; `nbytes` of the whole."""

    slots: tuple[Slot, ...]
    nbytes: int


@dataclass(frozen=True, slots=True)
class Arena:
    """`sets` times all arrays between guard bands; offsets are those of the first set."""

    slots: tuple[Slot, ...]
    stride: int
    sets: int

    @property
    def nbytes(self) -> int:
        """Bytes of the whole arena."""
        return self.stride * self.sets

    def guards(self, index: int) -> tuple[tuple[int, int], ...]:
        """Start and end of every stretch of a set that nobody may write."""
        base, spans, cursor = index * self.stride, list[tuple[int, int]](), 0
        for slot in self.slots:
            spans.append((base + cursor, base + slot.offset))
            cursor = slot.offset + slot.nbytes
        spans.append((base + cursor, base + self.stride))
        return tuple(spans)


def record(arrays: Iterable[BoundArgument]) -> Record:
    """The record of these arrays."""
    slots, cursor = list[Slot](), 0
    for array in arrays:
        slots.append(Slot(array.name, cursor, array.nbytes))
        cursor = _up(cursor + array.nbytes, CACHE_LINE)
    return Record(tuple(slots), max(cursor, CACHE_LINE))


def arena(contract: BoundContract, sets: int, *, barely_aligned: bool = False) -> Arena:
    """The arena of a contract.

    Arrays start on pages, as a large allocation would; `barely_aligned` moves each off
    every alignment greater than the one its contract promises, so that code which
    assumes more is found out.
    """
    sizes = [(a.name, a.nbytes, a.argument.align) for a in contract.arrays]
    return guarded(sizes, sets, barely_aligned=barely_aligned)


def guarded(
    sizes: Iterable[tuple[str, int, int]], sets: int, *, barely_aligned: bool = False
) -> Arena:
    """The arena of any buffers, given as (name, bytes, promised alignment)."""
    slots, cursor = list[Slot](), 0
    for name, nbytes, align in sizes:
        start = _up(cursor + GUARD, PAGE)
        if barely_aligned and align < PAGE:
            start += align
        slots.append(Slot(name, start, nbytes))
        cursor = start + nbytes
    return Arena(tuple(slots), _up(cursor + GUARD, PAGE), sets)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
