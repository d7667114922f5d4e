"""Where arrays lie in shared memory: records of inputs and outputs, and guarded arenas.

A *record* is all inputs (or all outputs) of one seed, one after the other. An *arena* is
what a variant sees: `sets` copies of all arrays, every array between two guard bands. Where arrays
are *flush*, whole pages of the bands are holes: no memory is there for the variant.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from ..specs.contract import BoundArgument, BoundContract

CACHE_LINE = 64
PAGE = 4096
GUARD = PAGE
MOST_APART = 4
"""pages that a drawn distance is longer than it must be, less one"""
HEADER = 16
"""bytes that a C library keeps before a block of its own: a large `malloc` or `std::vector` begins
so far behind the start of a page"""

Flush = Literal["", "before", "behind"]
"""Which side of every array a hole begins at: at once before its first byte, or behind its last one
but for what its alignment asks for."""


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
    """`sets` times all arrays between guard bands; offsets are those within a set, rising."""

    slots: tuple[Slot, ...]
    stride: int
    """bytes of a set"""
    sets: int
    spans: tuple[tuple[int, int], ...] = ()
    """start and end of each set where they lie scattered; empty: one after the other"""
    flush: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the whole arena."""
        return max((end for _, end in self.spans), default=self.stride * self.sets)

    def span(self, index: int) -> tuple[int, int]:
        """Start and end of a set."""
        return self.spans[index] if self.spans else (index * self.stride, (index + 1) * self.stride)

    def guards(self, index: int) -> tuple[tuple[int, int], ...]:
        """Start and end of every stretch of a set that nobody may write."""
        base, end = self.span(index)
        spans, cursor = list[tuple[int, int]](), 0
        for slot in self.slots:
            spans.append((base + cursor, base + slot.offset))
            cursor = slot.offset + slot.nbytes
        spans.append((base + cursor, end))
        return tuple(spans)

    def holes(self) -> tuple[tuple[int, int], ...]:
        """Start and end of what no variant may touch: the whole pages of all guard bands, where
        arrays are flush."""
        if not self.flush:
            return ()
        every = (span for index in range(self.sets) for span in self.guards(index))
        whole = ((_up(start, PAGE), end // PAGE * PAGE) for start, end in every)
        return tuple((start, end) for start, end in whole if start < end)

    def beside(self, offset: int) -> str:
        """The side of the nearest array on which a byte lies, in words; empty: it is in one."""
        nearest = list[tuple[int, str]]()
        for index in range(self.sets):
            base = self.span(index)[0]
            for slot in self.slots:
                start = base + slot.offset
                if start <= offset < start + slot.nbytes:
                    return ""
                if offset < start:
                    nearest.append((start - offset, f"before the start of `{slot.name}`"))
                else:
                    behind = offset - start - slot.nbytes + 1
                    nearest.append((behind, f"behind the end of `{slot.name}`"))
        return min(nearest)[1]


def record(arrays: Iterable[BoundArgument]) -> Record:
    """The record of these arrays."""
    slots, cursor = list[Slot](), 0
    for array in arrays:
        slots.append(Slot(array.name, cursor, array.nbytes))
        cursor = _up(cursor + array.nbytes, CACHE_LINE)
    return Record(tuple(slots), max(cursor, CACHE_LINE))


def arena(
    contract: BoundContract,
    sets: int,
    *,
    barely_aligned: bool = False,
    flush: Flush = "",
    placed: int | None = None,
    scattered: int | None = None,
) -> Arena:
    """The arena of a contract.

    Arrays start on pages, as a large allocation would; `barely_aligned` moves each off
    every alignment greater than the one its contract promises, so that code which
    assumes more is found out. `flush`: see `Flush`. `placed`: a seed by which the order of
    arrays is drawn, their distances and, where they are barely aligned, how far each lies from
    its page. `scattered`: a seed for the order and the distances of sets. Equal seeds give equal
    arenas, so that all sides of a comparison have the same.
    """
    sizes = [(a.name, a.nbytes, a.argument.align) for a in contract.arrays]
    made = guarded(sizes, sets, barely_aligned=barely_aligned, flush=flush, placed=placed)
    if scattered is None or sets == 1:
        return made
    return replace(made, spans=_scattered(made.stride, sets, random.Random(scattered)))


def placed_arena(contract: BoundContract, sets: int, seed: int) -> Arena:
    """An arena as one of a kernel's users may have it, drawn by a seed.

    Arrays begin on pages, or behind the header of a large allocation, or each at an offset of its
    own, a third of the seeds each; never where the declared alignment does not allow it. Order,
    distances and sets are drawn as by `arena`.
    """
    rng = random.Random(seed)
    kind = rng.choice(("pages", "header", "anywhere"))

    def offset(align: int) -> int:
        if kind == "header":
            return HEADER if HEADER % align == 0 else 0
        return align * rng.randrange(max(1, PAGE // align)) if kind == "anywhere" else 0

    sizes = [(a.name, a.nbytes, a.argument.align) for a in contract.arrays]
    offsets = {name: offset(align) for name, _, align in sizes}
    made = guarded(sizes, sets, placed=rng.getrandbits(63), offsets=offsets)
    return replace(made, spans=_scattered(made.stride, sets, rng))


def guarded(
    sizes: Iterable[tuple[str, int, int]],
    sets: int,
    *,
    barely_aligned: bool = False,
    flush: Flush = "",
    placed: int | None = None,
    offsets: Mapping[str, int] = MappingProxyType({}),
) -> Arena:
    """The arena of any buffers, given as (name, bytes, promised alignment); as `arena`.

    `offsets`: bytes by which arrays lie behind the starts of pages.
    """
    slots, cursor, sizes = list[Slot](), 0, list(sizes)
    rng = None if placed is None else random.Random(placed)
    if rng is not None:
        rng.shuffle(sizes)
    for name, nbytes, align in sizes:
        start = _up(cursor + GUARD, PAGE) + (rng.randrange(MOST_APART) * PAGE if rng else 0)
        start += offsets.get(name, 0)
        if flush == "behind":
            start += -_up(nbytes, align) % PAGE
        elif barely_aligned and not flush and align < PAGE:
            start += align * (2 * rng.randrange(PAGE // (2 * align)) + 1 if rng else 1)
        slots.append(Slot(name, start, nbytes))
        cursor = start + nbytes
    end = _up(cursor, PAGE) + GUARD if flush else _up(cursor + GUARD, PAGE)
    return Arena(tuple(slots), end, sets, flush=bool(flush))


def _scattered(nbytes: int, sets: int, rng: random.Random) -> tuple[tuple[int, int], ...]:
    """Start and end of so many sets of so many bytes, in a drawn order and at drawn distances."""
    spans, cursor = list[tuple[int, int]](), 0
    for _ in range(sets):
        end = cursor + nbytes + rng.randrange(MOST_APART) * PAGE
        spans.append((cursor, end))
        cursor = end
    rng.shuffle(spans)
    return tuple(spans)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
