"""Device memory of the runner: one stage for all runs, inputs kept pristine, room for outputs."""

from __future__ import annotations

from ..arena_values import InputPool
from ..layout import PAGE
from . import driver
from .faults import RunFault
from .support import Support
from .tables import Table, digested

ALIGNMENT = 2 << 20
"""of the stage: the most that any allocator gives, so that offsets alone decide alignment"""
STAGE_SHARE = 0.5
"""of what is free: the most that sets may take"""
STASH_SHARE = 0.2
"""of what is free: the most that outputs waiting to be looked at may take"""

Digest = tuple[int, int]


def aligned(nbytes: int, multiple: int = ALIGNMENT) -> int:
    """Rounded up."""
    return -(-nbytes // multiple) * multiple


class Region:
    """Device memory that grows when more is asked for; its contents are lost then."""

    def __init__(self) -> None:
        self._allocated = 0
        self.address = 0
        self.nbytes = 0

    def reserve(self, nbytes: int) -> bool:
        """Make room; whether the memory is another now. Raises OutOfDeviceMemory."""
        if nbytes <= self.nbytes:
            return False
        self.release()
        size = aligned(nbytes)
        self._allocated = driver.allocate(size + ALIGNMENT)
        self.address, self.nbytes = aligned(self._allocated), size
        return True

    def release(self) -> None:
        """Give it back."""
        if self._allocated:
            driver.free(self._allocated)
        self._allocated = self.address = self.nbytes = 0


class DeviceInputs:
    """The inputs of a pool on the device, as the oracle made them, with their digests."""

    def __init__(self, pool: InputPool) -> None:
        self.pool = pool
        self.names = tuple(a.name for a in pool.contract.inputs)
        self.watched = tuple(
            a.name for a in pool.contract.inputs if a.argument.role == "input" and a.nbytes
        )
        """those that no run may change"""
        self._region = Region()
        self._digests: dict[tuple[int, str], Digest] = {}

    def upload(self, support: Support, stream: driver.Stream) -> None:
        """Copy all seeds to the device, once. Raises OutOfDeviceMemory."""
        if self._region.nbytes or not self.pool.inputs.slots:
            return
        self._region.reserve(self.pool.inputs.nbytes * self.pool.slots)
        driver.upload(stream, self._region.address, self.pool.values)
        self._digests = self._digest_all(support, stream)

    def release(self) -> None:
        """Give the device's copy back; `upload` makes it anew."""
        self._region.release()

    def address(self, slot: int, name: str) -> int:
        """Where the value of one input of one seed lies."""
        place = next(s for s in self.pool.inputs.slots if s.name == name)
        return self._region.address + slot * self.pool.inputs.nbytes + place.offset

    def digest(self, slot: int, name: str) -> Digest:
        """The digest of a watched input."""
        return self._digests[slot, name]

    def repair(self, support: Support, stream: driver.Stream) -> bool:
        """Whether something had written to these copies; they are right again now."""
        if self._digest_all(support, stream) == self._digests:
            return False
        driver.upload(stream, self._region.address, self.pool.values)
        return True

    def _digest_all(self, support: Support, stream: driver.Stream) -> dict[tuple[int, str], Digest]:
        keys = [(slot, name) for slot in range(self.pool.slots) for name in self.watched]
        sizes = {s.name: s.nbytes for s in self.pool.inputs.slots}
        rows = [
            (self.address(slot, name), sizes[name], 0, index)
            for index, (slot, name) in enumerate(keys)
        ]
        found = digest_now(support, stream, digested(rows), len(keys))
        return dict(zip(keys, found, strict=True))


def digest_now(support: Support, stream: driver.Stream, table: Table, results: int) -> list[Digest]:
    """Digests of what lies on the device, waited for."""
    region = Region()
    nbytes = aligned(table.nbytes, PAGE)
    region.reserve(nbytes + 16 * results)
    try:
        driver.upload(stream, region.address, table.view("u1"))
        driver.Memset(region.address + nbytes, 1, 0, 16 * results, 1).enqueue(stream)
        support.digest(region.address, len(table), region.address + nbytes)
        driver.synchronize()
        words = driver.download(region.address + nbytes, 16 * results).view("<u8")
        return [(int(a), int(b)) for a, b in words.reshape(-1, 2)]
    finally:
        region.release()


def no_room(what: str, nbytes: int) -> RunFault:
    """What could not be had of a device whose memory the plan alone would fit."""
    free = driver.free_memory() / 2**30
    text = f"out of device memory: {what} takes {nbytes / 2**30:.2f} GiB, {free:.2f} "
    return RunFault("no_room", text + "GiB are free", lost=False)
