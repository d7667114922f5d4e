"""What makes the sets as new before a run: fresh inputs, poison, contents of const buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..plan import Fill, SetSymbol
from ..shared_arena import GUARD_PATTERN
from . import driver
from .binding import relocated
from .driver import Stream
from .memory import Region
from .setting import Setting
from .tables import CHUNK, Table, pieces


class Images:
    """Contents of const buffers (addresses in place, one for each set) and raw symbol bytes."""

    def __init__(self, files: Mapping[str, str], setting: Setting, stream: Stream) -> None:
        plan = setting.plan
        self.region = Region()
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
        if blobs:
            self.region.reserve(cursor)
            driver.upload(
                stream, self.region.address, np.frombuffer(b"".join(blobs), dtype=np.uint8)
            )
        base = self.region.address
        self.content = {k: base + at for k, at in offsets.items() if isinstance(k, tuple)}
        self.raw = {k: base + at for k, at in offsets.items() if isinstance(k, str)}


class Restoring:
    """The table that makes all sets as new, but for which seeds and which poison."""

    def __init__(self, setting: Setting, images: Images) -> None:
        rows, owners, kinds = list[tuple[int, int, int, int]](), list[int](), list[str]()
        prepared = {step.fill for step in setting.plan.setup if isinstance(step, Fill)}
        kept = list[bool]()
        roles = {a.name: a.argument.role for a in setting.inputs.pool.contract.arrays}
        for index, addresses in enumerate(setting.addresses):
            for buffer in setting.plan.buffers:
                at, nbytes = addresses[buffer.name], buffer.nbytes
                if buffer.role == "argument" and roles[buffer.name] != "output":
                    rows.append((at, setting.inputs.address(0, buffer.name), nbytes, 0))
                    kinds.append("input")
                elif buffer.role == "const":
                    rows.append((at, images.content[index, buffer.name], nbytes, 0))
                    kinds.append("const")
                else:
                    rows.append((at, 0, nbytes, 0))
                    kinds.append("poison")
                owners.append(index)
                kept.append(buffer.name in prepared)
            for start, nbytes in setting.guards(index):
                rows.append((start, 0, nbytes, GUARD_PATTERN))
                kinds.append("guard")
                owners.append(index)
                kept.append(False)
        self._rows = pieces(rows)
        counts = [-(-row[2] // CHUNK) for row in rows]
        self._owner: npt.NDArray[np.int64] = np.repeat(np.array(owners, dtype=np.int64), counts)
        kind = np.repeat(np.array(kinds), counts)
        self._kept: npt.NDArray[np.bool_] = np.repeat(np.array(kept, dtype=np.bool_), counts)
        self._input, self._poison = kind == "input", kind == "poison"
        self._record = setting.inputs.pool.inputs.nbytes

    def table(self, slots: Sequence[int], poison: int, *, again: bool = False) -> Table:
        """The table; sets beyond the seeds given are left as they are, and `again` also those
        buffers that setup fills."""
        rows = self._rows.copy()
        seeds = np.zeros(int(self._owner.max(initial=0)) + 1, dtype=np.uint64)
        seeds[: len(slots)] = slots
        moved = seeds[self._owner[self._input]] * np.uint64(self._record)
        rows["source"][self._input] += moved
        rows["pattern"][self._poison] = poison
        return rows[(self._owner < len(slots)) & ~(self._kept & again)]
