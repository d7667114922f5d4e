"""One variant on the stage: its machine code loaded, its plan bound to every set of buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..contract import BoundContract
from ..dtypes import DTYPES
from ..layout import Arena, arena, guarded
from ..plan import LaunchPlan, SetSymbol
from ..shared_arena import GUARD_PATTERN
from . import driver
from .binding import Addresses, relocated
from .bound import BoundPlan, bind_plan
from .code import Code
from .driver import GraphExec, Stream
from .faults import RunFault
from .memory import DeviceInputs, Region, aligned
from .tables import CHUNK, Elements, Table, pieces

DENSE_ALIGNMENT = 16


@dataclass(frozen=True)
class Outputs:
    """The outputs of a plan one after the other, each dense: what is digested and handed over."""

    elements: tuple[Elements, ...]
    offsets: tuple[int, ...]
    nbytes: int

    @classmethod
    def of(cls, plan: LaunchPlan) -> Outputs:
        """Elements as the plan leaves them; `offsets` into an entry of `nbytes`."""
        elements = tuple(
            Elements(o.shape, o.strides, DTYPES[o.dtype].itemsize) for o in plan.outputs
        )
        offsets, cursor = list[int](), 0
        for each in elements:
            offsets.append(cursor)
            cursor = aligned(cursor + each.nbytes, DENSE_ALIGNMENT)
        return cls(elements, tuple(offsets), max(cursor, DENSE_ALIGNMENT))


@dataclass(frozen=True)
class Shape:
    """How the stage is divided for one variant: arguments of all sets, then its own buffers."""

    arguments: Arena
    own: Arena

    @classmethod
    def of(
        cls, plan: LaunchPlan, contract: BoundContract, sets: int, *, barely_aligned: bool
    ) -> Shape:
        """The arguments come first and lie the same for every variant."""
        own = [(b.name, b.nbytes, b.align) for b in plan.buffers if b.role != "argument"]
        return cls(
            arena(contract, sets, barely_aligned=barely_aligned),
            guarded(own, sets, barely_aligned=barely_aligned),
        )

    @property
    def nbytes(self) -> int:
        """Of the stage."""
        return aligned(self.arguments.nbytes) + self.own.nbytes

    def addresses(self, stage: int, index: int) -> dict[str, int]:
        """Where every buffer of one set begins."""
        own = stage + aligned(self.arguments.nbytes)
        found = dict[str, int]()
        for start, part in ((stage, self.arguments), (own, self.own)):
            found |= {s.name: start + index * part.stride + s.offset for s in part.slots}
        return found

    def guards(self, stage: int, index: int) -> list[tuple[int, int]]:
        """Start and size of every guard band of one set: those of the arguments first."""
        own = stage + aligned(self.arguments.nbytes)
        return [
            (start + a, b - a)
            for start, part in ((stage, self.arguments), (own, self.own))
            for a, b in part.guards(index)
        ]

    def describe_overrun(self, guard: int, first: int, last: int, nbytes: int) -> str:
        """In words, from the first and last damaged byte of a band, which buffer was left."""
        count = len(self.arguments.slots) + 1
        part, number = (self.arguments, guard) if guard < count else (self.own, guard - count)
        names = [s.name for s in part.slots]
        before = nbytes - last
        if number == len(names) or (number > 0 and first < before):
            return (
                f"byte {first + 1} behind the end of `{names[number - 1]}`" if names else "memory"
            )
        return f"byte {before} before the start of `{names[number]}`"


class Side:
    """A variant bound to a pool's sets. Raises RunFault from its constructor and from `reload`."""

    def __init__(
        self,
        variant: str,
        files: Mapping[str, str],
        plan: LaunchPlan,
        inputs: DeviceInputs,
        shape: Shape,
        stage: int,
        stream: Stream,
    ) -> None:
        self.variant, self.plan, self.inputs, self.shape = variant, plan, inputs, shape
        self.outputs = Outputs.of(plan)
        self.stage = stage
        self.seen = set[int]()
        """seeds that this load of the machine code has met"""
        self._files, self._stream = files, stream
        sets = range(shape.arguments.sets)
        self.addresses = [shape.addresses(stage, index) for index in sets]
        self._images = _Images(files, plan, self.addresses, stream)
        self._graphs: dict[tuple[int, int], GraphExec] = {}
        self.code = Code(files, plan)
        self.bound = self._bind()
        self._template = _Restore(self)

    @property
    def most_calls(self) -> int | None:
        """Of one sample, where state could pass from one call to the next; None: any."""
        if not self.code.keeps_state:
            return None
        symbols = any(isinstance(step, SetSymbol) for step in self.plan.setup)
        return 1 if symbols else max(1, self.inputs.pool.slots - 1)

    def restore(self, slots: Sequence[int], poison: int) -> Table:
        """Fresh values, poison and guard bands for all sets; a seed for each."""
        return self._template.table(slots, poison)

    def image(self, index: int, buffer: str) -> int:
        """Where the content of a const buffer of one set is kept."""
        return self._images.content[index, buffer]

    def meet(self, slots: Sequence[int]) -> None:
        """Code that keeps state never meets the same seed twice: it is loaded anew before."""
        if self.code.keeps_state and self.seen.intersection(slots):
            self.reload()
        self.seen.update(slots)

    def reload(self) -> None:
        """Load the machine code anew, so that its variables start as they do in a process."""
        driver.synchronize()
        self._drop_graphs()
        self.code.close()
        self.code = Code(self._files, self.plan)
        self.bound = self._bind()
        self.seen.clear()

    def has_graph(self, calls: int, turn: int) -> bool:
        """Whether that graph has run before."""
        return (calls, turn) in self._graphs

    def graph(self, calls: int, turn: int) -> GraphExec:
        """`calls` runs of the plan, one a set, as one launch; `turn` picks one of two equals."""
        if (calls, turn) not in self._graphs:
            driver.begin_capture(self._stream)
            fault: RunFault | None = None
            try:
                for bound in self.bound[:calls]:
                    for step in bound.steps:
                        step.enqueue(self._stream)
            except RunFault as error:
                fault = error
            made = driver.end_capture(self._stream, keep=fault is None)
            if fault is not None or made is None:
                raise fault or RunFault("refused", "refused: nothing to launch", lost=False)
            self._graphs[calls, turn] = made
        return self._graphs[calls, turn]

    def close(self) -> None:
        """Give graphs, machine code and images back; nothing of it may be running."""
        self._drop_graphs()
        self.code.close()
        self._images.region.release()

    def _bind(self) -> list[BoundPlan]:
        raw = self._images.raw
        return [bind_plan(self.plan, self.code, each, raw.__getitem__) for each in self.addresses]

    def _drop_graphs(self) -> None:
        for graph in self._graphs.values():
            driver.destroy_graph(graph)
        self._graphs.clear()


class _Images:
    """Contents of const buffers (addresses in place, one for each set) and raw symbol bytes."""

    def __init__(
        self,
        files: Mapping[str, str],
        plan: LaunchPlan,
        addresses: Sequence[Addresses],
        stream: Stream,
    ) -> None:
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
                for index, each in enumerate(addresses):
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


class _Restore:
    """The table that makes all sets as new, but for which seeds and which poison."""

    def __init__(self, side: Side) -> None:
        rows, owners, kinds = list[tuple[int, int, int, int]](), list[int](), list[str]()
        roles = {a.name: a.argument.role for a in side.inputs.pool.contract.arrays}
        inputs = set(side.inputs.names)
        for index, addresses in enumerate(side.addresses):
            for buffer in side.plan.buffers:
                at, nbytes = addresses[buffer.name], buffer.nbytes
                if buffer.role == "argument" and roles[buffer.name] != "output":
                    assert buffer.name in inputs
                    rows.append((at, side.inputs.address(0, buffer.name), nbytes, 0))
                    kinds.append("input")
                elif buffer.role == "const":
                    rows.append((at, side.image(index, buffer.name), nbytes, 0))
                    kinds.append("const")
                else:
                    rows.append((at, 0, nbytes, 0))
                    kinds.append("poison")
                owners.append(index)
            for start, nbytes in side.shape.guards(side.stage, index):
                rows.append((start, 0, nbytes, GUARD_PATTERN))
                kinds.append("guard")
                owners.append(index)
        self._rows = pieces(rows)
        counts = [-(-row[2] // CHUNK) for row in rows]
        self._owner: npt.NDArray[np.int64] = np.repeat(np.array(owners, dtype=np.int64), counts)
        kind = np.repeat(np.array(kinds), counts)
        self._input, self._poison = kind == "input", kind == "poison"
        self._record = side.inputs.pool.inputs.nbytes

    def table(self, slots: Sequence[int], poison: int) -> Table:
        """The table; sets beyond the seeds given are left as they are."""
        rows = self._rows.copy()
        seeds = np.zeros(int(self._owner.max(initial=0)) + 1, dtype=np.uint64)
        seeds[: len(slots)] = slots
        moved = seeds[self._owner[self._input]] * np.uint64(self._record)
        rows["source"][self._input] += moved
        rows["pattern"][self._poison] = poison
        return rows[self._owner < len(slots)]
