"""The memory in which a variant runs, shared between runner and executor, used over and over.

Fresh memory has to be found and cleared by the kernel page by page, which takes longer than
most runs; executors come and go, their arenas stay.
"""

from __future__ import annotations

import mmap
import os

import numpy as np
import numpy.typing as npt

from .layout import Arena

GUARD_PATTERN = 0xC3
STOCK_BYTES = 1 << 30

Bytes = npt.NDArray[np.uint8]


class SharedArena:
    """An arena's layout with its memory (uint8, `layout.nbytes`) and its descriptor."""

    def __init__(self, layout: Arena) -> None:
        self.layout = layout
        self.fd = os.memfd_create("arena")
        os.ftruncate(self.fd, layout.nbytes)
        self._map = mmap.mmap(self.fd, layout.nbytes)
        self.memory: Bytes = np.frombuffer(self._map, dtype=np.uint8)

    def guard(self) -> None:
        """Write the pattern into every guard band."""
        for index in range(self.layout.sets):
            for start, end in self.layout.guards(index):
                self.memory[start:end] = GUARD_PATTERN

    def close(self) -> None:
        """Release the memory (when the last array that looks at it is gone)."""
        os.close(self.fd)


class ArenaStock:
    """One arena a layout, for all variants: only one of them runs at a time.

    Sharing is fair as well as thrifty: where pages lie in memory decides how they fall into
    caches, and two arenas of one layout can differ by some percent for as long as they live.
    """

    def __init__(self) -> None:
        self._arenas: list[SharedArena] = []

    def take(self, layout: Arena) -> SharedArena:
        """The arena of this layout; its buffers hold anything. Old ones make room."""
        found = next((a for a in self._arenas if a.layout == layout), None)
        if found is None:
            found = SharedArena(layout)
            found.guard()
        else:
            self._arenas.remove(found)
        self._arenas.append(found)
        while len(self._arenas) > 1 and sum(a.layout.nbytes for a in self._arenas) > STOCK_BYTES:
            self._arenas.pop(0).close()
        return found
