"""What makes sets as new before a run, and blank after it: inputs, poison, const buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..plans.plan import SetSymbol
from .cuda_driver import driver
from .cuda_driver.binding import relocated
from .cuda_driver.driver import Stream
from .memory import Kept, Region, digest_now
from .setting import Setting
from .support import Support
from .tables import BLANK, GUARD, Table, cut, pieces, repeated


class Images:
    """Contents of const buffers (addresses in place, one for each set) and raw symbol bytes."""

    def __init__(self, files: Mapping[str, str], setting: Setting) -> None:
        plan = setting.plan
        self.region = Region()
        self.kept = Kept()
        """what no run may change"""
        blobs = list[bytes]()
        offsets: dict[tuple[int, str] | str, int] = {}
        cursor = 0

        def add(key: tuple[int, str] | str, content: bytes) -> None:
            nonlocal cursor
            offsets[key] = cursor
            padded = content + bytes(-len(content) % 256)
            blobs.append(padded)
            cursor += len(padded)

        for buffer in plan.buffers:
            if buffer.sha256 is not None:
                content = Path(files[buffer.sha256]).read_bytes()
                for index, each in enumerate(setting.addresses):
                    add((index, buffer.name), relocated(buffer, content, each))
        for step in (*plan.setup, *plan.steps):
            if isinstance(step, SetSymbol) and step.raw is not None and step.raw not in offsets:
                add(step.raw, bytes.fromhex(step.raw))
        self._bytes = np.frombuffer(b"".join(blobs), dtype=np.uint8)
        self._offsets = offsets

    def upload(self, support: Support, stream: Stream) -> None:
        """Bring them to the device. Raises OutOfDeviceMemory."""
        if self._bytes.size:
            self.region.reserve(self._bytes.size, stream)
            self.renew(stream)
            span = (self.region.address, self._bytes.size)
            (digest,) = digest_now(support, stream, [span])
            self.kept = Kept(((span, digest),), self.region.beside(self._bytes.size))

    def renew(self, stream: Stream) -> None:
        """Write them anew, whatever has happened to them."""
        if self._bytes.size:
            driver.upload(stream, self.region.address, self._bytes)
            self.region.blank(self._bytes.size, stream)

    def content(self, index: int, name: str) -> int:
        """Where the content of a const buffer of one set lies."""
        return self.region.address + self._offsets[index, name]

    def raw(self, raw: str) -> int:
        """Where the raw bytes of a symbol (given in hexadecimal) lie."""
        return self.region.address + self._offsets[raw]


@dataclass(frozen=True)
class _Rows:
    """Rows of `move` for all sets, and what each of them is."""

    table: Table
    owner: npt.NDArray[np.int64]
    """the set"""
    input: npt.NDArray[np.bool_]
    poison: npt.NDArray[np.bool_]
    prepared: npt.NDArray[np.bool_]
    """of a buffer that setup fills"""

    @classmethod
    def of(cls, setting: Setting, images: Images) -> _Rows:
        rows, notes = list[tuple[int, int, int, int]](), list[tuple[int, str, bool]]()
        for index, addresses in enumerate(setting.addresses):
            for buffer in setting.plan.buffers:
                at, nbytes = addresses[buffer.name], buffer.nbytes
                if buffer.name in setting.poisoned:
                    source, kind = 0, "poison"
                elif buffer.role == "const":
                    source, kind = images.content(index, buffer.name), "const"
                else:
                    source, kind = setting.inputs.address(0, buffer.name), "input"
                rows.append((at, source, nbytes, 0))
                notes.append((index, kind, buffer.name in setting.prepared))
            for start, nbytes in setting.guards[index]:
                rows.append((start, 0, nbytes, GUARD))
                notes.append((index, "guard", False))
        row, _, _ = cut(np.array([row[2] for row in rows], dtype=np.uint64))
        owner, kind, prepared = (np.array(column)[row] for column in zip(*notes, strict=True))
        return cls(pieces(rows), owner, kind == "input", kind == "poison", prepared)


class Restoring:
    """The tables that make sets as new, but for which seeds and which poison, and blank."""

    def __init__(self, setting: Setting, images: Images) -> None:
        self._setting, self._rows = setting, _Rows.of(setting, images)
        self._record = setting.inputs.pool.inputs.nbytes

    def table(self, seeds: Mapping[int, int], poison: int, *, again: bool = False) -> Table:
        """The table, for a seed for each set; other sets are left as they are, and `again` also
        those buffers that setup fills."""
        rows, each = self._rows, np.full(self._setting.sets, -1, dtype=np.int64)
        each[list(seeds)] = list(seeds.values())
        seed = each[rows.owner]
        chosen = (seed >= 0) & ~(rows.prepared & again)
        table, inputs = rows.table[chosen], rows.input[chosen]
        table["source"][inputs] += seed[chosen][inputs].astype(np.uint64) * np.uint64(self._record)
        table["pattern"][rows.poison[chosen]] = repeated(poison)
        return table

    def blanking(self, indices: Sequence[int]) -> Table:
        """The table that leaves nothing of what these sets held."""
        spans = [span for index in indices for span in self._setting.spans[index]]
        return pieces([(start, 0, nbytes, repeated(BLANK)) for start, nbytes in spans])
