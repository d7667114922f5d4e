"""Parameters as a kernel is given them: an array of addresses, one of each value."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from .reading import Parameter

ALIGN, WORD = 16, 8
Slots = Mapping[str, int]
"""of each buffer its place among the addresses of a call"""
Packed = tuple[Any, Any]
"""the array, and the words that it points into"""


class Packing:
    """The values of a step in one piece of memory, the addresses among them left open. A piece is
    one call's alone from `take` to `give`, and another's after that."""

    def __init__(self, parameters: Sequence[Parameter], slots: Slots) -> None:
        self._open = list[tuple[int, int, int]]()
        self._at = list[int]()
        self._free = list[Packed]()
        content = bytearray()
        for each in parameters:
            content += bytes(-len(content) % ALIGN)
            self._at.append(len(content))
            if not each.dtype and each.buffer:
                self._open.append((len(content) // WORD, slots[each.buffer], each.offset))
            content += each.raw if each.dtype else bytes(WORD)
        self._content = bytes(content) + bytes(-len(content) % WORD)

    def take(self, addresses: Sequence[int]) -> Packed:
        """A piece for a call. Addresses are by slot; of a parameter without a buffer it is null."""
        try:
            piece = self._free.pop()
        except IndexError:
            piece = self._made()
        words = piece[1]
        for at, slot, offset in self._open:
            words[at] = addresses[slot] + offset
        return piece

    def give(self, piece: Packed) -> None:
        """Take a piece back: the function has returned, or the driver has copied it."""
        self._free.append(piece)

    def _made(self) -> Packed:
        words = (ctypes.c_uint64 * max(1, len(self._content) // WORD))()
        ctypes.memmove(words, self._content, len(self._content))
        base, count = ctypes.addressof(words), max(1, len(self._at))
        return (ctypes.c_void_p * count)(*(base + at for at in self._at)), words
