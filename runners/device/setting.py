"""Where a plan is at home: how the stage is divided for it, and where each buffer lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..contract import BoundContract
from ..dtypes import DTYPES
from ..layout import Arena, arena, guarded
from ..plan import LaunchPlan
from .memory import DeviceInputs, aligned
from .tables import Elements

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
        before = nbytes - last + 1
        if number == len(names) or (number > 0 and first < before):
            return (
                f"byte {first + 1} behind the end of `{names[number - 1]}`" if names else "memory"
            )
        return f"byte {before} before the start of `{names[number]}`"


@dataclass(frozen=True, eq=False)
class Setting:
    """A plan on a pool's inputs, and the stage (an address) with its shape for it."""

    plan: LaunchPlan
    inputs: DeviceInputs
    shape: Shape
    stage: int

    @property
    def sets(self) -> int:
        """How many there are."""
        return self.shape.arguments.sets

    @cached_property
    def addresses(self) -> list[dict[str, int]]:
        """Of every buffer, by set."""
        return [self.shape.addresses(self.stage, index) for index in range(self.sets)]

    @cached_property
    def outputs(self) -> Outputs:
        """The plan's outputs, dense."""
        return Outputs.of(self.plan)

    def guards(self, index: int) -> list[tuple[int, int]]:
        """Start and size of every guard band of one set."""
        return self.shape.guards(self.stage, index)
