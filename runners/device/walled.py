"""One set of buffers between walls: addresses around each of them are nobody's.

In a stage a buffer has guard bands, which tell of writes, and beyond them other buffers, in which a
load goes unseen. Here each buffer has memory of its own, and behind (or before) it lies nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import SystemRandom

from ..plans.plan import LaunchPlan
from ..protocol.messages import Placement
from .cuda_driver import driver
from .cuda_driver.driver import Stream
from .cuda_driver.mapping import Mapped
from .memory import Region, Span, aligned, stamped
from .tables import BLANK

MOST_APART = 4
"""granules without memory between two buffers, at most; one at least"""
ROOM = 1 << 16
"""bytes within which a buffer begins `anywhere`"""
_dice = SystemRandom()

SAID: dict[Placement, str] = {
    "end": "it reached behind the end of a buffer: each ended where memory ends",
    "start": "it reached before the start of a buffer: each began where memory begins",
    "anywhere": "it reached far from its buffers, or relies on where they lie: each had memory of "
    "its own, in another order and at other distances",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A buffer in its piece of memory; all in bytes from the start of the range."""

    name: str
    start: int
    nbytes: int
    piece: Span


def places(
    buffers: Iterable[tuple[str, int, int]], placement: Placement, granule: int
) -> tuple[tuple[Place, ...], int]:
    """Where buffers (name, bytes, promised alignment) lie, in the order given, and the bytes of the
    whole range. They lie in it in an order that is drawn, as their distances are."""
    given = list(buffers)
    found, cursor = dict[str, Place](), granule
    for name, nbytes, align in _dice.sample(given, len(given)):
        room = ROOM if placement == "anywhere" else 0
        size = aligned(max(nbytes + room, 1), granule)
        most = (size - nbytes) // align
        steps = {"start": 0, "end": most, "anywhere": _dice.randint(0, min(most, ROOM // align))}
        start = cursor + steps[placement] * align
        found[name] = Place(name, start, nbytes, (cursor, size))
        cursor += size + granule * _dice.randint(1, MOST_APART)
    return tuple(found[name] for name, _, _ in given), cursor


class WalledShape:
    """As `setting.Shape`, for one set between walls."""

    sets = 1

    def __init__(self, found: Sequence[Place], nbytes: int, placement: Placement) -> None:
        self._places, self.nbytes = tuple(found), nbytes
        self.words = f" ({SAID[placement]})"
        """what a fault in it means"""

    @classmethod
    def of(cls, plan: LaunchPlan, placement: Placement, granule: int) -> WalledShape:
        """All buffers of a plan, each by itself."""
        buffers = [(b.name, b.nbytes, b.align) for b in plan.buffers]
        return cls(*places(buffers, placement, granule), placement)

    @property
    def pieces(self) -> tuple[Span, ...]:
        """What of the range has memory."""
        return tuple(place.piece for place in self._places)

    @property
    def set_nbytes(self) -> int:
        """Of all memory."""
        return sum(size for _, size in self.pieces)

    def addresses(self, base: int, _: int) -> dict[str, int]:
        """See `Shape.addresses`."""
        return {place.name: base + place.start for place in self._places}

    def spans(self, base: int, _: int) -> tuple[Span, ...]:
        """See `Shape.spans`."""
        return tuple((base + start, size) for start, size in self.pieces)

    def guards(self, base: int, _: int) -> list[Span]:
        """See `Shape.guards`: what of each buffer's memory lies before it, and behind it."""
        found = list[Span]()
        for place in self._places:
            first, size = place.piece
            end = place.start + place.nbytes
            found += [(base + first, place.start - first), (base + end, first + size - end)]
        return found

    def describe_overrun(self, guard: int, first: int, last: int, nbytes: int) -> str:
        """See `Shape.describe_overrun`."""
        name = self._places[guard // 2].name
        if guard % 2:
            return f"byte {first + 1} behind the end of `{name}`"
        return f"byte {nbytes - last + 1} before the start of `{name}`"


class Walls(Region):
    """The memory of a walled shape. Raises OutOfDeviceMemory and DriverFault."""

    def __init__(self, shape: WalledShape) -> None:
        super().__init__()
        self._mapped = Mapped(shape.nbytes, shape.pieces)
        self.address, self.nbytes, self.stamp = self._mapped.address, shape.set_nbytes, stamped()

    def release(self) -> None:
        """See `Region.release`."""
        self._mapped.release()
        self.address = self.nbytes = 0

    def beside(self, used: int) -> tuple[Span, ...]:
        """Nothing: all of it belongs to its one set."""
        return ()

    def blank(self, used: int, stream: Stream) -> None:
        """See `Region.blank`."""
        for start, nbytes in self._mapped.pieces:
            driver.Memset(start, 1, BLANK, nbytes, 1).enqueue(stream)
