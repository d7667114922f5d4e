"""Where a plan is at home: how the stage is divided for it, and where each buffer lies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..dtypes import DTYPES
from ..plans.plan import Fill, LaunchPlan
from ..protocol.layout import Arena, arena, guarded
from ..specs.contract import BoundContract
from .memory import DeviceInputs, Region, Span, aligned
from .tables import Elements
from .walled import WalledShape

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
    words = ""
    """what beside the driver's own words a fault means"""

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
    def sets(self) -> int:
        """How many there are."""
        return self.arguments.sets

    @property
    def nbytes(self) -> int:
        """Of the stage."""
        return aligned(self.arguments.nbytes) + self.own.nbytes

    @property
    def set_nbytes(self) -> int:
        """Of one set, guard bands included."""
        return self.arguments.stride + self.own.stride

    def addresses(self, stage: int, index: int) -> dict[str, int]:
        """Where every buffer of one set begins."""
        own = stage + aligned(self.arguments.nbytes)
        found = dict[str, int]()
        for start, part in ((stage, self.arguments), (own, self.own)):
            found |= {s.name: start + index * part.stride + s.offset for s in part.slots}
        return found

    def spans(self, stage: int, index: int) -> tuple[Span, Span]:
        """All memory of one set, guard bands included: of its arguments, and of its own buffers."""
        own = stage + aligned(self.arguments.nbytes)
        first, second = (
            (start + index * part.stride, part.stride)
            for start, part in ((stage, self.arguments), (own, self.own))
        )
        return first, second

    def guards(self, stage: int, index: int) -> list[Span]:
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
        before = nbytes - last + 1
        if number == len(names) or (number > 0 and first < before):
            return (
                f"byte {first + 1} behind the end of `{names[number - 1]}`" if names else "memory"
            )
        return f"byte {before} before the start of `{names[number]}`"


@dataclass(frozen=True, eq=False)
class Setting:
    """A plan on a pool's inputs, and the stage with its shape for it."""

    plan: LaunchPlan
    inputs: DeviceInputs
    shape: Shape | WalledShape
    region: Region
    """the memory of the sets"""
    stamp: int
    """of the region then"""
    blank: tuple[Span, ...] = ()
    """other memory for sets, none of which is used here"""

    @property
    def valid(self) -> bool:
        """Whether the stage still lies where it did."""
        return self.region.stamp == self.stamp

    @property
    def sets(self) -> int:
        """How many there are."""
        return self.shape.sets

    @cached_property
    def addresses(self) -> list[dict[str, int]]:
        """Of every buffer, by set."""
        return [self.shape.addresses(self.region.address, index) for index in range(self.sets)]

    @cached_property
    def outputs(self) -> Outputs:
        """The plan's outputs, dense."""
        return Outputs.of(self.plan)

    @cached_property
    def prepared(self) -> frozenset[str]:
        """Buffers that setup fills."""
        return frozenset(step.fill for step in self.plan.setup if isinstance(step, Fill))

    @cached_property
    def poisoned(self) -> frozenset[str]:
        """Buffers in which nothing is to be found when a plan begins: outputs and scratch."""
        roles = {a.name: a.argument.role for a in self.inputs.pool.contract.arrays}
        return frozenset(
            b.name
            for b in self.plan.buffers
            if b.role in ("scratch", "launch_scratch") or roles.get(b.name) == "output"
        )

    @cached_property
    def guards(self) -> list[list[Span]]:
        """Start and size of every guard band, by set."""
        return [self.shape.guards(self.region.address, index) for index in range(self.sets)]

    @cached_property
    def spans(self) -> list[tuple[Span, ...]]:
        """All memory of each set."""
        return [self.shape.spans(self.region.address, index) for index in range(self.sets)]

    def unused(self, indices: Iterable[int]) -> list[Span]:
        """What of the memory for sets belongs to none of these."""
        if isinstance(self.shape, WalledShape):
            return list(self.blank)
        used = sorted(span for index in indices for span in self.spans[index])
        spans, cursor = list[Span](), self.region.address
        for start, nbytes in used:
            spans.append((cursor, start - cursor))
            cursor = start + nbytes
        spans.append((cursor, self.region.address + self.region.nbytes - cursor))
        return [span for span in spans if span[1] > 0] + list(
            self.region.beside(self.region.nbytes)
        )
