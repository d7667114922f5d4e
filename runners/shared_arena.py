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
IDLE_BYTES = 512 << 20

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
    """Arenas that nobody uses at the moment, up to IDLE_BYTES."""

    def __init__(self) -> None:
        self._idle: list[SharedArena] = []

    def take(self, layout: Arena) -> SharedArena:
        """An arena of this layout with fresh guard bands; its buffers hold anything."""
        found = next((a for a in self._idle if a.layout == layout), None)
        if found is None:
            found = SharedArena(layout)
        else:
            self._idle.remove(found)
        found.guard()
        return found

    def give_back(self, arena: SharedArena) -> None:
        """Keep an arena for later; the oldest ones make room."""
        self._idle.append(arena)
        while len(self._idle) > 1 and sum(a.layout.nbytes for a in self._idle) > IDLE_BYTES:
            self._idle.pop(0).close()
