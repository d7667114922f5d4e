"""Memory for the buffers of a kept launch: at their own addresses, where the driver grants these.

Then every pointer holds, also inside structures, tables and tensor maps. A driver grants a wished
address only at multiples of 32 MiB, with as much room (tried on an H200: other wishes land
elsewhere, always with success), so the enclosing blocks are reserved, and memory is mapped where
buffers lie. What cannot be had is placed elsewhere, and its `shift` is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...device.cuda_driver import driver
from ...device.cuda_driver.driver import call
from ...device.cuda_driver.faults import DriverFault
from ...device.cuda_driver.mapping import Mapped
from .kept import KeptBuffer, lowest_and_end

RESERVED, GRAIN = 32 << 20, 2 << 20


class Places:
    """Where each buffer lies, while this is open."""

    def __init__(self, buffers: Sequence[KeptBuffer], *, relocate: bool = False) -> None:
        """`relocate`: none at its own address, to see whether that matters."""
        self.addresses = [0] * len(buffers)
        self._buffers = buffers
        self._mapped = list[Mapped]()
        self._plain, self._pinned = list[int](), list[int]()
        try:
            for index, buffer in enumerate(buffers):
                if buffer.on_host:
                    self._pin(index)
            for members in _stretches(buffers):
                if relocate or not self._restore(members):
                    self._elsewhere(members)
        except BaseException:
            self.close()
            raise

    def shift(self, index: int) -> int:
        """How far a buffer lies from where it was."""
        return self.addresses[index] - self._buffers[index].base

    @property
    def moved(self) -> int:
        """How many lie elsewhere."""
        return sum(self.shift(index) != 0 for index in range(len(self._buffers)))

    def close(self) -> None:
        """Give all back; a context that is lost has nothing to give."""
        for mapped in self._mapped:
            mapped.release()
        with suppress(DriverFault):
            for address in self._plain:
                driver.free(address)
            for address in self._pinned:
                call("cuMemFreeHost", address)
        self._mapped, self._plain, self._pinned = [], [], []

    def _pin(self, index: int) -> None:
        """Pinned memory of the host, which the device sees at its host address."""
        address = int(call("cuMemHostAlloc", self._buffers[index].size, 2))
        self._pinned.append(address)
        self.addresses[index] = address

    def _restore(self, members: Sequence[int]) -> bool:
        held = [self._buffers[i] for i in members]
        low, end = lowest_and_end(held)
        start, size = _down(low, RESERVED), _up(end, RESERVED) - _down(low, RESERVED)
        first, last = _down(low, GRAIN), _up(end, GRAIN)
        try:
            mapped = Mapped(size, [(first - start, last - first)], wished=start)
        except DriverFault:
            return False
        if mapped.address != start:
            mapped.release()
            return False
        self._mapped.append(mapped)
        for i in members:
            self.addresses[i] = self._buffers[i].base
        return True

    def _elsewhere(self, members: Sequence[int]) -> None:
        low, end = lowest_and_end([self._buffers[i] for i in members])
        start = _down(low, GRAIN)  # what lay at a multiple of something still does
        address = driver.allocate(end - start + GRAIN)
        self._plain.append(address)
        for i in members:
            self.addresses[i] = _up(address, 512) + self._buffers[i].base - start


def _stretches(buffers: Sequence[KeptBuffer]) -> list[list[int]]:
    """Buffers by the blocks of addresses that they lie in: those that share one together."""
    order = sorted(range(len(buffers)), key=lambda i: buffers[i].base)
    made = list[list[int]]()
    end: Any = -1
    for i in order:
        if buffers[i].on_host:
            continue
        if _down(buffers[i].base, RESERVED) < end:
            made[-1].append(i)
        else:
            made.append([i])
        end = max(end, _up(buffers[i].base + buffers[i].size, RESERVED))
    return made


def _down(value: int, to: int) -> int:
    return value // to * to


def _up(value: int, to: int) -> int:
    return -(-value // to) * to
