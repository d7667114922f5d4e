"""Device memory of the runner: what of it is blank, and inputs that are kept pristine.

Code that runs here can reach all of it. So whatever no sample needs at the moment is *blank*, full
of one byte: nobody finds anything there, and whoever leaves something there is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product

from ..protocol.arena_values import InputPool
from ..protocol.layout import PAGE
from .cuda_driver import driver
from .cuda_driver.driver import Bytes, Stream
from .cuda_driver.faults import RunFault
from .support import Support
from .tables import BLANK, GAP, Table, digested

ALIGNMENT = 2 << 20
"""of the stage: the most that any allocator gives, so that offsets alone decide alignment"""
STAGE_SHARE = 0.5
"""of what is free: the most that sets may take"""

Digest = tuple[int, int]
Span = tuple[int, int]
"""start and size"""
_stamps = count(1)


def stamped() -> int:
    """A number that no memory had before."""
    return next(_stamps)


def aligned(nbytes: int, multiple: int = ALIGNMENT) -> int:
    """Rounded up."""
    return -(-nbytes // multiple) * multiple


@dataclass(frozen=True)
class Kept:
    """Memory that no run may change: spans, each with its digest, and spans that are blank."""

    digests: tuple[tuple[Span, Digest], ...] = ()
    blank: tuple[Span, ...] = ()

    @cached_property
    def nbytes(self) -> int:
        """Of all of it."""
        return sum(n for (_, n), _ in self.digests) + sum(n for _, n in self.blank)

    @classmethod
    def joined(cls, parts: Sequence[Kept]) -> Kept:
        """All of them together."""
        digests = tuple(each for part in parts for each in part.digests)
        return cls(digests, tuple(each for part in parts for each in part.blank))


class Region:
    """Device memory that grows when more is asked for; it is blank then."""

    def __init__(self) -> None:
        self._allocated = self._size = 0
        self.address = 0
        self.nbytes = 0
        self.stamp = 0
        """another number whenever address or size are others"""

    def reserve(self, nbytes: int, stream: Stream) -> bool:
        """Make room; whether the memory is another now. Raises OutOfDeviceMemory."""
        if nbytes <= self.nbytes:
            return False
        self.release()
        size = aligned(nbytes)
        self._allocated, self._size = driver.allocate(size), size
        if self._allocated % ALIGNMENT:
            driver.free(self._allocated)
            self._allocated = self._size = 0  # there is none, should there be no room for more
            self._allocated, self._size = driver.allocate(size + ALIGNMENT), size + ALIGNMENT
        self.address, self.nbytes = aligned(self._allocated), size
        self.stamp = stamped()
        driver.Memset(self._allocated, 1, BLANK, self._size, 1).enqueue(stream)
        return True

    def release(self) -> None:
        """Give it back."""
        if self._allocated:
            driver.free(self._allocated)
            self.stamp = stamped()
        self._allocated = self._size = self.address = self.nbytes = 0

    def beside(self, used: int) -> tuple[Span, ...]:
        """What was allocated and is not among the first `used` bytes."""
        end = self.address + used
        spans = (
            (self._allocated, self.address - self._allocated),
            (end, self._allocated + self._size - end),
        )
        return tuple(span for span in spans if span[1] > 0)

    def blank(self, used: int, stream: Stream) -> None:
        """Make all but the first `used` bytes blank."""
        for start, nbytes in self.beside(used):
            driver.Memset(start, 1, BLANK, nbytes, 1).enqueue(stream)


class DeviceInputs:
    """The inputs of a pool on the device, as the oracle made them, with their digests."""

    def __init__(self, pool: InputPool) -> None:
        self.pool = pool
        self.names = tuple(a.name for a in pool.contract.inputs)
        self.watched = tuple(
            a.name for a in pool.contract.inputs if a.argument.role == "input" and a.nbytes
        )
        """those that no run may change"""
        self.region = Region()
        self._digests: dict[tuple[int, str], Digest] = {}
        self._records: tuple[tuple[Span, Digest], ...] = ()

    @property
    def nbytes(self) -> int:
        """Of all seeds."""
        return self.pool.inputs.nbytes * self.pool.slots

    def upload(self, support: Support, stream: Stream) -> None:
        """Copy all seeds to the device, once. Raises OutOfDeviceMemory."""
        if self.region.nbytes or not self.pool.inputs.slots:
            return
        self.region.reserve(self.nbytes, stream)
        driver.upload(stream, self.region.address, self._values())
        self._digest_all(support, stream)

    def renew(self, stream: Stream) -> None:
        """Write it anew, whatever has happened to it."""
        driver.upload(stream, self.region.address, self._values())
        self.region.blank(self.nbytes, stream)

    def _values(self) -> Bytes:
        """All seeds, with GAP between the elements of what is changed in place."""
        if not self.pool.gaps:
            return self.pool.values
        values = self.pool.values.copy()
        places = {s.name: s for s in self.pool.inputs.slots}
        for slot, (name, gaps) in product(range(self.pool.slots), self.pool.gaps.items()):
            start = slot * self.pool.inputs.nbytes + places[name].offset
            values[start : start + places[name].nbytes].reshape(gaps.size, -1)[gaps] = GAP
        return values

    def release(self) -> None:
        """Give the device's copy back; `upload` makes it anew."""
        self.region.release()

    @property
    def kept(self) -> Kept:
        """What no run may change: the records of all seeds, and what lies around them."""
        if not self.region.nbytes:
            return Kept()
        return Kept(self._records, self.region.beside(self.nbytes))

    def address(self, slot: int, name: str) -> int:
        """Where the value of one input of one seed lies."""
        place = next(s for s in self.pool.inputs.slots if s.name == name)
        return self.region.address + slot * self.pool.inputs.nbytes + place.offset

    def digest(self, slot: int, name: str) -> Digest:
        """The digest of an input."""
        return self._digests[slot, name]

    def _digest_all(self, support: Support, stream: Stream) -> None:
        keys = [(slot, name) for slot in range(self.pool.slots) for name in self.names]
        sizes, record = {s.name: s.nbytes for s in self.pool.inputs.slots}, self.pool.inputs.nbytes
        whole = [(self.region.address + s * record, record) for s in range(self.pool.slots)]
        spans = [(self.address(slot, name), sizes[name]) for slot, name in keys] + whole
        found = digest_now(support, stream, spans)
        self._digests = dict(zip(keys, found, strict=False))
        self._records = tuple(zip(whole, found[len(keys) :], strict=True))


def digest_rows(spans: Sequence[Span], first: int = 0) -> Table:
    """The table that digests each span for itself; results are counted from `first`."""
    return digested(
        [(start, nbytes, 0, result) for result, (start, nbytes) in enumerate(spans, first)]
    )


def digest_now(support: Support, stream: Stream, spans: Sequence[Span]) -> list[Digest]:
    """Digests of what lies on the device, waited for."""
    region, table = Region(), digest_rows(spans)
    nbytes = aligned(table.nbytes, PAGE)
    region.reserve(nbytes + 16 * len(spans), stream)
    try:
        driver.upload(stream, region.address, table.view("u1"))
        driver.Memset(region.address + nbytes, 1, 0, 16 * len(spans), 1).enqueue(stream)
        support.digest(region.address, len(table), region.address + nbytes)
        words = driver.fetch(stream, region.address + nbytes, 16 * len(spans)).view("<u8")
        return [(int(a), int(b)) for a, b in words.reshape(-1, 2)]
    finally:
        region.release()


def no_room(what: str, nbytes: int) -> RunFault:
    """What could not be had of a device whose memory the plan alone would fit."""
    free = driver.free_memory() / 2**30
    text = f"out of device memory: {what} takes {nbytes / 2**30:.2f} GiB, {free:.2f} "
    return RunFault("no_room", text + "GiB are free", lost=False)
