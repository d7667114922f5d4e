"""The memory in which a variant runs, shared between runner and executor, used over and over.

Fresh memory has to be found and cleared by the kernel page by page, which takes longer than
most runs; executors come and go, their arenas stay.
"""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Iterator

import numpy as np

from .layout import Arena
from .patterns import Bytes, same_bytes

GUARD_PATTERN = 0xC3
"""of guard bands on a GPU"""
STOCK_BYTES = 1 << 30
SHIFT = 1 << 16


class SharedArena:
    """An arena's layout with its memory (uint8, `layout.nbytes`) and its descriptor.

    What its guard bands hold is drawn, and no byte of it follows from another: neither a constant
    nor a neighbour restores one. The truth is kept here, where no variant can read it.
    """

    def __init__(self, layout: Arena) -> None:
        self.layout = layout
        self.fd = os.memfd_create("arena")
        os.ftruncate(self.fd, layout.nbytes)
        self._map = mmap.mmap(self.fd, layout.nbytes)
        self.memory: Bytes = np.frombuffer(self._map, dtype=np.uint8)
        self._bands, nbytes = _bands(layout)
        self._drawn: Bytes = np.frombuffer(random.randbytes(nbytes + SHIFT), dtype=np.uint8)
        self._image = self._drawn
        """what all guard bands hold, one after the other"""
        self.guard()

    def guard(self) -> None:
        """Draw what the guard bands hold anew: before a process begins that has not seen it.

        A stretch of bytes that were drawn once, from another start and combined with another byte:
        to draw all of them anew takes longer than to start a process.
        """
        first, byte = random.randrange(SHIFT), np.uint8(random.randrange(256))
        self._image = self._drawn[first : first + self._drawn.size - SHIFT] ^ byte
        for index in range(self.layout.sets):
            self.restore(index)

    def restore(self, index: int) -> None:
        """Write the guard bands of a set as they were."""
        for start, end, at in self._bands[index]:
            self.memory[start:end] = self._image[at : at + end - start]

    def damaged(self, index: int) -> Iterator[tuple[int, int, int]]:
        """The number of each guard band of a set that was written, and how many bytes from its
        start and from its end that was."""
        for number, (start, end, at) in enumerate(self._bands[index]):
            found, image = self.memory[start:end], self._image[at : at + end - start]
            if not same_bytes(found, image):
                hit = np.flatnonzero(found != image)
                yield number, int(hit[0]), end - start - int(hit[-1])

    def close(self) -> None:
        """Release the memory (when the last array that looks at it is gone)."""
        os.close(self.fd)


def _bands(layout: Arena) -> tuple[list[list[tuple[int, int, int]]], int]:
    """Start and end of each guard band, by set, with where it lies when all lie one after the
    other; and how many bytes they are together."""
    found, at = list[list[tuple[int, int, int]]](), 0
    for index in range(layout.sets):
        found.append([])
        for start, end in layout.guards(index):
            found[-1].append((start, end, at))
            at += end - start
    return found, at


class ArenaStock:
    """One arena a layout, for all variants: only one of them runs at a time.

    Sharing is fair as well as thrifty: where pages lie in memory decides how they fall into
    caches, and two arenas of one layout can differ by some percent for as long as they live.
    """

    def __init__(self) -> None:
        self._arenas: list[SharedArena] = []
        self._placed: SharedArena | None = None

    def take(self, layout: Arena) -> SharedArena:
        """The arena of this layout; its buffers hold anything. Old ones make room."""
        if self._placed is not None:
            self._placed = self._placed.close()
        found = next((a for a in self._arenas if a.layout == layout), None)
        if found is None:
            found = SharedArena(layout)
        else:
            self._arenas.remove(found)
        self._arenas.append(found)
        while len(self._arenas) > 1 and sum(a.memory.size for a in self._arenas) > STOCK_BYTES:
            self._arenas.pop(0).close()
        return found

    def anew(self, layout: Arena) -> SharedArena:
        """Memory of its own for a layout, until another one asks: not that which the last one had,
        where there is room for both."""
        if self._placed is not None and self._placed.layout == layout:
            return self._placed
        last, self._placed = self._placed, None
        if last is not None and last.layout.nbytes > STOCK_BYTES:
            last = last.close()
        self._placed = SharedArena(layout)
        if last is not None:
            last.close()
        return self._placed
