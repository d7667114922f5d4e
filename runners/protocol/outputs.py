"""Outputs by content: what was seen before costs a comparison, what is new travels once."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .layout import Record
from .patterns import Bytes, same_bytes

MEMORY_BYTES = 512 << 20


class OutputKey(NamedTuple):
    """Whose output on which input."""

    variant: str
    pool: str
    slot: int


@dataclass
class OutputMemory:
    """The last output of every variant on every input, with its digest, up to MEMORY_BYTES.

    A variant that computes the same bits again is recognised at the speed of memory instead
    of that of a hash.
    """

    _known: dict[OutputKey, tuple[str, tuple[Bytes, ...]]] = field(
        default_factory=dict[OutputKey, tuple[str, tuple[Bytes, ...]]]
    )
    _nbytes: int = 0

    def digest(self, key: OutputKey, parts: Sequence[Bytes]) -> str:
        """The digest of an output."""
        known = self._known.get(key)
        if known is not None and all(map(same_bytes, known[1], parts)):
            return known[0]
        found = hashlib.sha256()
        for part in parts:
            found.update(part.data)
        name, size = found.hexdigest()[:32], sum(part.size for part in parts)
        if known is not None:
            self._drop(key)
        if self._nbytes + size <= MEMORY_BYTES:
            self._known[key] = (name, tuple(part.copy() for part in parts))
            self._nbytes += size
        return name

    def forget(self, which: Callable[[OutputKey], bool]) -> None:
        """Release what belongs to a variant or pool that is gone."""
        for key in [k for k in self._known if which(k)]:
            self._drop(key)

    def _drop(self, key: OutputKey) -> None:
        self._nbytes -= sum(part.size for part in self._known.pop(key)[1])


class OutputSink:
    """Collects outputs that the server does not know yet in a file without a name.

    `known`: digests by slot (as text), from the server.
    """

    def __init__(
        self, outputs: Record, known: Mapping[str, Sequence[str]], memory: OutputMemory
    ) -> None:
        self._layout, self._memory = outputs, memory
        self._known = {int(slot): set(digests) for slot, digests in known.items()}
        self._fd = os.memfd_create("outputs")
        self._count = 0

    def add(self, key: OutputKey, parts: Sequence[Bytes]) -> tuple[str, int | None]:
        """The digest of an output, and its place in the file when it is new."""
        name = self._memory.digest(key, parts)
        seen = self._known.setdefault(key.slot, set())
        if name in seen:
            return name, None
        seen.add(name)
        place, self._count = self._count, self._count + 1
        nbytes = self._layout.nbytes
        os.ftruncate(self._fd, self._count * nbytes)
        with mmap.mmap(self._fd, self._count * nbytes) as file:
            for part, where in zip(parts, self._layout.slots, strict=True):
                start = place * nbytes + where.offset
                file[start : start + where.nbytes] = part.tobytes()
        return name, place

    def close(self) -> int:
        """The descriptor; the caller sends it on and closes it."""
        return self._fd
