"""Stretches of device memory with nothing mapped around them (CUDA's virtual memory management).

An address range is reserved whole, and memory is mapped at some places of it. All other addresses
of it are nobody's: a kernel that touches one of them breaks its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from .driver import binding, call, device_attribute
from .faults import DriverFault

Span = tuple[int, int]
"""start and size"""
SUPPORTED = "VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED"


def can_map(device: int = 0) -> bool:
    """Whether device and driver know this at all."""
    return bool(device_attribute(SUPPORTED, device))


@cache
def granularity(device: int = 0) -> int:
    """Bytes of which sizes and places of what is mapped are multiples."""
    least = binding().CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    return int(call("cuMemGetAllocationGranularity", _memory_of(device), least))


class Mapped:
    """`nbytes` of addresses, of which `pieces` (start in it, size) have memory; all are multiples
    of the granularity. `wished`: the address to begin at, which the driver may or may not grant.
    Raises OutOfDeviceMemory and DriverFault, and keeps nothing then."""

    def __init__(
        self, nbytes: int, pieces: Sequence[Span], device: int = 0, *, wished: int = 0
    ) -> None:
        self.nbytes = nbytes
        self.address = int(call("cuMemAddressReserve", nbytes, 0, wished, 0))
        self.pieces = tuple((self.address + start, size) for start, size in pieces)
        """start and size of each, on the device"""
        self._memory = list[tuple[int, int, Any]]()
        try:
            for start, size in self.pieces:
                self._map(start, size, device)
        except DriverFault:
            self.release()
            raise

    def _map(self, start: int, size: int, device: int) -> None:
        memory = call("cuMemCreate", size, _memory_of(device), 0)
        try:
            call("cuMemMap", start, size, 0, memory, 0)
        except DriverFault:
            call("cuMemRelease", memory)
            raise
        self._memory.append((start, size, memory))
        call("cuMemSetAccess", start, size, [_access_of(device)], 1)

    def release(self) -> None:
        """Give all of it back, once no work uses it; a context that is lost has nothing to give."""
        with suppress(DriverFault):
            for start, size, memory in self._memory:
                call("cuMemUnmap", start, size)
                call("cuMemRelease", memory)
            self._memory.clear()
            if self.address:
                call("cuMemAddressFree", self.address, self.nbytes)
        self.address = 0


def _memory_of(device: int) -> Any:
    cuda = binding()
    made = cuda.CUmemAllocationProp()
    made.type = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    made.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    made.location.id = device
    return made


def _access_of(device: int) -> Any:
    cuda = binding()
    made = cuda.CUmemAccessDesc()
    made.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    made.location.id = device
    made.flags = cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return made
