"""Parameters as a kernel is given them: an array of addresses, one of each value."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from .reading import Case, Parameter

ALIGN = 16


class Packing:
    """The values of a step in one piece of memory, the addresses among them left open."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._open = list[tuple[int, str, int]]()
        self._at = list[int]()
        content = bytearray()
        for each in parameters:
            content += bytes(-len(content) % ALIGN)
            self._at.append(len(content))
            if not each.dtype:
                self._open.append((len(content), each.buffer, each.offset))
            content += each.raw if each.dtype else bytes(8)
        self._content = bytes(content)

    def packed(self, addresses: Mapping[str, int]) -> tuple[Any, Any]:
        """The array, and the memory that it points into, which has to live as long. Addresses are
        by buffer; of a parameter without a buffer it is null."""
        memory = ctypes.create_string_buffer(self._content, max(1, len(self._content)))
        for at, name, offset in self._open:
            struct.pack_into("<Q", memory, at, addresses[name] + offset if name else 0)
        base = ctypes.addressof(memory)
        count = max(1, len(self._at))
        return (ctypes.c_void_p * count)(*(base + at for at in self._at)), memory


def addresses_of(case: Case, tensors: Sequence[Any], results: Sequence[Any]) -> dict[str, int]:
    """Where the tensors of a call lie, by buffer."""
    return {
        name: (tensors if each.kind == "input" else results)[each.number].data_ptr()
        for name, each in case.buffers.items()
        if each.kind != "scratch"
    }


def held_for(case: Case, torch: Any, device: Any) -> dict[str, Any]:
    """Memory of a call's own, by buffer: it has to live until its steps are under way."""
    return {
        name: torch.empty(each.number, dtype=torch.uint8, device=device)
        for name, each in case.buffers.items()
        if each.kind == "scratch"
    }
