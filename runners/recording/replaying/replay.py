"""One kept launch, run again: restored whole before every launch, compared with what it left.

Everything is restored, not only inputs: counters that an earlier memset cleared, and sums, would
make a second launch another one, or one that never ends.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from ...device.cuda_driver import driver, modules
from ...device.cuda_driver.driver import Bytes
from ...device.cuda_driver.faults import DriverFault
from ...device.cuda_driver.launches import (
    CLUSTER,
    CLUSTER_POLICY,
    COOPERATIVE,
    Configuration,
    PreparedLaunch,
)
from ...errors import AccessError
from ..recorded import Size3
from .kept import TABLE_BYTES, KeptLaunch
from .places import Places

KEPT_ATTRIBUTES = frozenset({COOPERATIVE, CLUSTER, CLUSTER_POLICY})
"""the others tie launches to each other, or are hints"""
DYNAMIC_SHARED, CARVEOUT, NON_PORTABLE = 7, 8, 10
"""places in `KeptLaunch.function_attributes`"""
PLAIN_SHARED = 48 << 10
SET_CARVEOUT, SET_DYNAMIC, SET_NON_PORTABLE = 9, 8, 14
"""CUfunction_attribute"""
FLUSH_BYTES = 256 << 20
LOOK_S = 0.0002
POISONS = (0x5A, 0xA5)


class Hung(Exception):
    """A launch that did not end in time: the process has to go."""


@dataclass(frozen=True, slots=True)
class Other:
    """Machine code to run in the place of the recorded one."""

    image: Path
    entry: str
    grid: Size3
    block: Size3
    shared: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one launch left."""

    differing: tuple[int, ...]
    """bytes of each buffer that are not what the program had"""
    variables: int
    """bytes of variables that are not"""


class Replay:
    """A kept launch on the device, while this is open. Raises DriverFault, OutOfDeviceMemory and
    AccessError."""

    def __init__(
        self,
        kept: KeptLaunch,
        *,
        relocate: bool = False,
        other: Other | None = None,
        wait_s: float = 10.0,
    ) -> None:
        image = other.image if other else kept.image
        if image is None:
            raise AccessError(
                "its machine code was not recorded",
                next_step="record with CUPTI (--front cupti), which sees all machine code",
            )
        self.kept, self._wait_s = kept, wait_s
        self._module = modules.load_module(image.read_bytes())
        self._stream = driver.make_stream()
        self._done = driver.make_event(timed=False)
        self.places = Places(kept.buffers, relocate=relocate)
        self.before = [_read(b.before, b.size) for b in kept.buffers]
        self.after = [_read(b.after, b.size) for b in kept.buffers]
        self.patched = self._relocate_tables()
        self._variables = self._find_variables() if other is None else []
        self._launch = self._prepare(other)

    def run(self) -> Outcome:
        """Restore, launch, compare."""
        self.restore()
        self.launch()
        differing = [
            int(np.count_nonzero(self.read(i) != self.after[i])) for i in range(len(self.after))
        ]
        return Outcome(tuple(differing), self._differing_variables())

    def restore(self, poisoned: int = -1, poison: int = 0) -> None:
        """Everything as before the launch; buffer `poisoned` filled with a byte instead."""
        for index, data in enumerate(self.before):
            if index == poisoned:
                data = np.full_like(data, poison)
            driver.upload(self._stream, self.places.addresses[index], data)
        for address, before, _ in self._variables:
            driver.upload(self._stream, address, before)
        self._wait()

    def launch(self) -> None:
        """Once. Raises Hung."""
        self._launch.enqueue(self._stream)
        self._wait()

    def read(self, index: int) -> Bytes:
        """A buffer's bytes as they are now."""
        return driver.download(self.places.addresses[index], self.kept.buffers[index].size)

    def wrote(self, index: int) -> tuple[Bytes, bool]:
        """Which bytes of a buffer the launch writes (a mask), and whether what it writes hangs on
        what was there. Two poisons: a byte that neither run left as it was is written, and also
        one that the launch happens to fill with one of them."""
        got = list[Bytes]()
        for poison in POISONS:
            self.restore(index, poison)
            self.launch()
            got.append(self.read(index))
        mask = (got[0] != POISONS[0]) | (got[1] != POISONS[1])
        pure = all(bool((found[mask] == self.after[index][mask]).all()) for found in got)
        return mask, pure

    def times_us(self, runs: int, *, cold: bool) -> float:
        """The middle of some launches' times by events, everything restored before each; `cold`:
        behind a memset that is larger than the L2 cache."""
        start, end = driver.make_event(), driver.make_event()
        flushed = driver.allocate(FLUSH_BYTES) if cold else 0
        kept = [driver.allocate(b.size) for b in self.kept.buffers]
        found = list[float]()
        try:
            self.restore()
            for index, copy in enumerate(kept):
                driver.copy(self._stream, copy, *self._place(index))
            for _ in range(runs):
                for index, copy in enumerate(kept):
                    address, size = self._place(index)
                    driver.copy(self._stream, address, copy, size)
                if flushed:
                    driver.call("cuMemsetD8Async", flushed, 0, FLUSH_BYTES, self._stream)
                driver.record(start, self._stream)
                self._launch.enqueue(self._stream)
                driver.record(end, self._stream)
                self._wait()
                found.append(1e3 * driver.elapsed_ms(start, end))
        finally:
            for address in (*kept, *([flushed] if flushed else [])):
                driver.free(address)
        return median(found)

    def close(self) -> None:
        """Give all back."""
        self.places.close()
        modules.unload_module(self._module)

    def _place(self, index: int) -> tuple[int, int]:
        return self.places.addresses[index], self.kept.buffers[index].size

    def _wait(self) -> None:
        driver.record(self._done, self._stream)
        end = time.monotonic() + self._wait_s
        while not driver.is_done(self._done):
            if time.monotonic() > end:
                raise Hung(f"it did not end within {self._wait_s:.0f} s")
            time.sleep(LOOK_S)

    def _relocate_tables(self) -> int:
        """Addresses within small buffers follow what they point to; how many did."""
        if not self.places.moved:
            return 0
        patched = 0
        for index, buffer in enumerate(self.kept.buffers):
            if buffer.size > TABLE_BYTES:
                continue
            patched += self._patch(self.before[index])
            if buffer.changed:
                self._patch(self.after[index])
            else:
                self.after[index] = self.before[index]
        return patched

    def _patch(self, data: Bytes) -> int:
        words, count = data[: data.size // 8 * 8].view(np.uint64), 0
        was = words.copy()
        for target, buffer in enumerate(self.kept.buffers):
            if shift := self.places.shift(target):
                hit = (was >= buffer.base) & (was < buffer.base + buffer.size)
                words[hit] += np.uint64(shift % (1 << 64))
                count += int(hit.sum())
        return count

    def _find_variables(self) -> list[tuple[int, Bytes, Bytes]]:
        found = list[tuple[int, Bytes, Bytes]]()
        for variable in self.kept.variables:
            address, size = modules.get_global(self._module, variable.name)
            size = min(size, variable.size)
            found.append((address, _read(variable.before, size), _read(variable.after, size)))
        return found

    def _differing_variables(self) -> int:
        return sum(
            int(np.count_nonzero(driver.download(address, after.size) != after))
            for address, _, after in self._variables
        )

    def _prepare(self, other: Other | None) -> PreparedLaunch:
        kept = self.kept
        function = modules.get_function(self._module, other.entry if other else kept.name)
        shared = other.shared if other else kept.shared
        _set_attributes(function, kept.function_attributes, shared, is_other=other is not None)
        attributes = [(a[0], a[1:]) for a in kept.attributes if a[0] in KEPT_ATTRIBUTES]
        configuration = Configuration(
            function,
            other.grid if other else kept.grid,
            other.block if other else kept.block,
            shared,
            [(number, value if number == CLUSTER else value[:1]) for number, value in attributes],
        )
        return PreparedLaunch(configuration, self._params())

    def _params(self) -> Sequence[bytes]:
        """The parameters, with addresses that follow their buffers."""
        size = max((offset + len(raw) for offset, raw in self.kept.params), default=0)
        block = bytearray(size + 8)
        for offset, raw in self.kept.params:
            block[offset : offset + len(raw)] = raw
        for p in self.kept.pointers:
            if p.buffer >= 0 and self.places.shift(p.buffer):
                struct.pack_into("<Q", block, p.at, self.places.addresses[p.buffer] + p.offset)
        return [bytes(block[offset : offset + len(raw)]) for offset, raw in self.kept.params]


def _set_attributes(
    function: modules.Function, recorded: Sequence[int], shared: int, *, is_other: bool
) -> None:
    if shared > PLAIN_SHARED:
        most = shared if is_other else max(shared, recorded[DYNAMIC_SHARED])
        modules.set_function_attribute(function, SET_DYNAMIC, most)
    if recorded[CARVEOUT] > 0:
        try:
            modules.set_function_attribute(function, SET_CARVEOUT, recorded[CARVEOUT])
        except DriverFault:
            pass  # a hint, which this device may not take
    if recorded[NON_PORTABLE] == 1:
        modules.set_function_attribute(function, SET_NON_PORTABLE, 1)


def _read(file: Path, size: int) -> Bytes:
    try:
        data = np.fromfile(file, np.uint8, count=size)
    except OSError as error:
        raise AccessError(f"what the launch read was deleted: {file.name}") from error
    if data.size != size:
        raise AccessError(f"what the launch read is not whole: {file.name}")
    return data
