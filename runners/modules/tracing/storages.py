"""Storages by number, and how many bytes of them live: what an address cannot say, since memory is
used again as soon as a tensor dies."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

Place = tuple[int, int, int]
"""storage, offset in bytes, bytes"""


class Storages:
    """Numbers given to storages as they are met; what was made since counts as living."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._count = itertools.count()
        self.live = 0

    def known(self, tensor: Any) -> None:
        """A tensor that was there before: it does not count as living."""
        self._number(tensor.untyped_storage(), counts=False)

    def place(self, tensor: Any) -> Place:
        """Where a tensor lies, and its bytes: each element once, also of an expanded tensor."""
        storage = tensor.untyped_storage()
        number = self._number(storage, counts=True)
        elements = 1
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            elements *= size if stride else 1
        width = tensor.element_size()
        return number, tensor.storage_offset() * width, min(elements * width, storage.nbytes())

    def _number(self, storage: Any, *, counts: bool) -> int:
        known = self._numbers.get(id(storage))
        if known is not None:
            return known[0]
        number, address = next(self._count), id(storage)
        nbytes = storage.nbytes() if counts else 0
        self.live += nbytes

        def died(_: object) -> None:
            self._numbers.pop(address, None)
            self.live -= nbytes

        self._numbers[address] = number, weakref.ref(storage, died)
        return number
