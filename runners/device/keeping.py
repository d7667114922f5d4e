"""What no run may change: inputs of all seeds, contents of constants, and all that is blank.

Code on a device can write to all of its memory, and find there again what it left. So whatever is
neither its own buffers nor written anew before each run has a known content, which is looked at:
after each sample where that is little, and otherwise once a check or block and after some samples,
so that what one leaves for another is found even if that one puts things right. Then nobody knows
who it was: the block is void, and from then on every sample is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..protocol.layout import PAGE
from .cuda_driver import driver
from .cuda_driver.driver import Bytes, Stream
from .looking import blank_rows
from .memory import Digest, Kept, Region, Span, aligned, digest_now, digest_rows
from .support import Support
from .tables import Table

ALWAYS_BYTES = 32 << 20
"""so much is looked at after each sample: some 50 us on an H100"""
AMONG = 0.125
"""of other samples, after which all is looked at"""


EARLY_BYTES = 4 << 20
"""of each output that are copied early: some 5 us on an H100"""
WORD = 16


Packed = tuple[Bytes, Mapping[str, tuple[int, int]]]
"""Tables as they travel, and offset and rows of each."""


class Keeper(Protocol):
    """Somebody whose memory no run may change."""

    @property
    def region(self) -> Region:
        """All memory that it has."""
        ...

    @property
    def kept(self) -> Kept:
        """What has to be there."""
        ...

    def renew(self, stream: Stream) -> None:
        """Write it anew."""
        ...


class Spare:
    """Memory that is blank whenever code of others runs."""

    def __init__(self) -> None:
        self.region = Region()

    @property
    def kept(self) -> Kept:
        """See `Keeper.kept`."""
        return Kept(blank=self.region.beside(0))

    def renew(self, stream: Stream) -> None:
        """See `Keeper.renew`."""
        self.region.blank(0, stream)


class Early(Spare):
    """Copies of outputs that the device takes at once behind the event which tells their end.

    What is still under way then (bulk copies that nobody waited for) arrives later, so that outputs
    differ from their copies.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[Span] = []

    def reserve(self, outputs: Sequence[Span], stream: Stream) -> None:
        """Make room for copies, of large outputs for a drawn part. Raises OutOfDeviceMemory."""
        self._spans = [part_of(start, nbytes) for start, nbytes in outputs if not start % WORD]
        self.region.reserve(sum(aligned(nbytes, WORD) for _, nbytes in self._spans), stream)

    def enqueue(self, stream: Stream) -> None:
        """Take them."""
        for (source, nbytes), (target, _) in zip(self._spans, self._copies(), strict=True):
            if nbytes:
                driver.copy(stream, target, source, nbytes)

    def late(self, support: Support, stream: Stream) -> bool:
        """Whether outputs hold something else by now; the copies are gone then."""
        digests = digest_now(support, stream, [*self._copies(), *self._spans])
        self.renew(stream)
        return digests[: len(self._spans)] != digests[len(self._spans) :]

    def _copies(self) -> list[Span]:
        places, at = list[Span](), self.region.address
        for _, nbytes in self._spans:
            places.append((at, nbytes))
            at += aligned(nbytes, WORD)
        return places


def part_of(start: int, nbytes: int) -> Span:
    """So much of an output as is copied; drawn."""
    if nbytes <= EARLY_BYTES:
        return start, nbytes
    first = min(random.SystemRandom().randrange(0, nbytes, 16), nbytes - EARLY_BYTES)
    return start + first // 16 * 16, EARLY_BYTES


@dataclass(frozen=True)
class Laid:
    """Tables on the device: address and rows of each, and where findings go (words, all 0)."""

    places: Mapping[str, tuple[int, int]]
    results: int


class Desk:
    """The device's memory for tables and findings. Nothing lies there while others' code runs."""

    def __init__(self, stream: Stream) -> None:
        self.region, self._stream = Region(), stream

    def lay(self, data: Bytes, places: Mapping[str, tuple[int, int]], words: int = 0) -> Laid:
        """Upload tables that are `packed`. Raises OutOfDeviceMemory."""
        start = aligned(data.size, PAGE)
        self.region.reserve(start + 8 * words, self._stream)
        base = self.region.address
        driver.upload(self._stream, base, data)
        if words:
            driver.Memset(base + start, 4, 0, 2 * words, 4).enqueue(self._stream)
        return Laid({k: (base + at, rows) for k, (at, rows) in places.items()}, base + start)

    def clear(self) -> None:
        """Leave nothing of it."""
        self.region.blank(0, self._stream)


def packed(tables: Mapping[str, Table]) -> Packed:
    """Tables one after the other, with the offset and the rows of each."""
    places, cursor = dict[str, tuple[int, int]](), 0
    for name, table in tables.items():
        places[name] = (cursor, len(table))
        cursor += table.nbytes
    return np.concatenate([table.view(np.uint8) for table in tables.values()]), places


class Keeping:
    """All keepers together."""

    def __init__(self, support: Support, stream: Stream, desk: Desk) -> None:
        self._support, self._stream, self._desk = support, stream, desk
        self._keepers = list[Keeper]()
        self._known: tuple[tuple[int, ...], Kept] = ((), Kept())
        self._looked, self._tables = (
            Kept(),
            packed({"digest": digest_rows(()), "guards": blank_rows((), 0)}),
        )
        self.careful = False
        """look after each sample, whatever it costs"""
        self.suspicious = False
        """something was changed, and nobody knows by whom"""

    def add(self, keeper: Keeper) -> None:
        """From here on nobody may change what it keeps."""
        self._keepers.append(keeper)

    def remove(self, keeper: Keeper) -> None:
        """It keeps nothing any more."""
        self._keepers.remove(keeper)

    @property
    def kept(self) -> Kept:
        """Of all keepers."""
        alive = [keeper for keeper in self._keepers if keeper.region.nbytes]
        stamps = tuple(keeper.region.stamp for keeper in alive)
        if stamps != self._known[0]:
            self._known = (stamps, Kept.joined([keeper.kept for keeper in alive]))
        return self._known[1]

    def always(self, unused: int) -> bool:
        """Whether to look after each sample, which leaves so many bytes of the stage blank."""
        return self.careful or self.kept.nbytes + unused <= ALWAYS_BYTES

    def now(self, unused: int) -> bool:
        """Whether to look after this sample."""
        return self.always(unused) or random.random() < AMONG

    def renew(self) -> None:
        """Write everything anew."""
        for keeper in self._keepers:
            if keeper.region.nbytes:
                keeper.renew(self._stream)

    def damaged(self, *others: Kept) -> bool:
        """Whether something was changed, here or elsewhere; waits for the device."""
        kept = Kept.joined([self.kept, *others])
        spans = [span for span, _ in kept.digests]
        if kept != self._looked:
            tables = {"digest": digest_rows(spans), "guards": blank_rows(kept.blank, 0)}
            self._looked, self._tables = kept, packed(tables)
        laid = self._desk.lay(*self._tables, 2 * len(spans) + 2)
        self._support.digest(*laid.places["digest"], laid.results)
        self._support.guards(*laid.places["guards"], laid.results + 16 * len(spans))
        words = driver.fetch(self._stream, laid.results, 16 * len(spans) + 16).view("<u8")
        self._desk.clear()
        found: list[Digest] = [(int(a), int(b)) for a, b in words[:-2].reshape(-1, 2)]
        return bool(words[-2:].any()) or found != [digest for _, digest in kept.digests]
