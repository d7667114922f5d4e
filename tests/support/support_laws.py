"""Whether support.cu's kernels do on a device what `tables.py` says: run as a program.

Prints JSON: for each law what is wrong, empty where it holds. Needs a GPU, real or pretended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt

from kernelwright.runners.device.cuda_driver import driver
from kernelwright.runners.device.support import Support
from kernelwright.runners.device.tables import (
    CHUNK,
    GUARD,
    Elements,
    Table,
    digest_words,
    digested,
    filled,
    guarded,
    keyed_bytes,
    pieces,
)

Bytes = npt.NDArray[np.uint8]
KEYS = (0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x1032547698BADCFE)
SIZES = (0, 1, 3, 4, 15, 16, 17, 1000, CHUNK - 1, CHUNK, 2 * CHUNK + 21)
ELEMENTS = (
    Elements((5, 7), (7, 1), 4),
    Elements((5, 7), (1, 5), 2),
    Elements((30, 4, 3), (16, 4, 1), 8),
    Elements((3, 5), (9, 2), 1),
    Elements((6,), (3,), 4),
)
PATTERN = 0x3F40BF303F203F11
ROOM = 8 << 20
rng = np.random.default_rng(3)


class Device:
    """One stream with our kernels, and memory that is given anew to each case of a law."""

    def __init__(self) -> None:
        driver.make_current()
        self.stream = driver.make_stream()
        self.support = Support(self.stream, KEYS)
        self._start = self._next = driver.allocate(ROOM)

    def begin(self) -> None:
        """What was put here before is of no use any more."""
        driver.synchronize()
        self._next = self._start

    def put(self, data: Bytes) -> int:
        """The address of a copy of these bytes on the device, a multiple of 256."""
        address, self._next = self._next, self._next + -(-data.nbytes // 256) * 256
        assert self._next <= self._start + ROOM
        driver.upload(self.stream, address, np.ascontiguousarray(data))
        return address

    def table(self, rows: Table) -> tuple[int, int]:
        """A table on the device, and how many rows it has."""
        return self.put(rows.view("u1")), len(rows)

    def get(self, address: int, nbytes: int) -> Bytes:
        """What lies there, once all that was queued is done."""
        driver.synchronize()
        return driver.download(address, nbytes)


def random_bytes(nbytes: int) -> Bytes:
    return rng.integers(0, 256, nbytes, dtype=np.uint8)


def patterned(start: int, nbytes: int) -> Bytes:
    """What a fill with the pattern leaves at an address."""
    words = np.full(-(-(start % 8 + nbytes) // 8), PATTERN, dtype="<u8")
    return words.view(np.uint8)[start % 8 :][:nbytes]


def digests(device: Device) -> str:
    """`digest` is `digest_words`, at any size and alignment."""
    for size, shift in product(SIZES, (0, 1, 4)):
        device.begin()
        data = random_bytes(size + shift)
        rows = device.table(digested([(device.put(data) + shift, size, 0, 0)]))
        results = device.put(np.zeros(16, dtype=np.uint8))
        device.support.digest(*rows, results)
        low, high = device.get(results, 16).view(np.uint64).tolist()
        if (low, high) != digest_words(data[shift:].tobytes(), KEYS[:2]):
            return f"{size} bytes, {shift} beyond a multiple of 256"
    return ""


def moves(device: Device) -> str:
    """`move` copies and fills what it is told to, and nothing beside it."""
    for size, (left, right) in product(SIZES, ((0, 0), (4, 8), (1, 0), (3, 3))):
        device.begin()
        source, wanted = random_bytes(size + 16), random_bytes(size + 32)
        start, target = device.put(source) + left, device.put(wanted)
        within = slice(right, right + size)
        held = patterned(target + right, size)
        for origin, content in ((start, source[left : left + size]), (0, held)):
            wanted[within] = content
            rows = pieces([(target + right, origin, size, PATTERN)])
            device.support.move(*device.table(rows))
            if not np.array_equal(device.get(target, wanted.nbytes), wanted):
                return f"{size} bytes from {left} to {right}, filled: {not origin}"
    return ""


def guards(device: Device) -> str:
    """`guards` places the first and the last byte that is damaged, of bands that `move` filled."""
    for (size, shift), pattern in product(((1, 0), (17, 3), (256, 0), (5000, 5)), (GUARD, PATTERN)):
        for damage in ((), (0,), (size - 1,), (size // 2,), (size // 3, size // 2)):
            device.begin()
            start = device.put(random_bytes(size + shift + 16)) + shift
            device.support.move(*device.table(pieces([(start, 0, size, pattern)])))
            band = device.get(start, size)
            wanted = (
                keyed_bytes(start, size, KEYS[2]) if pattern == GUARD else patterned(start, size)
            )
            if not (band == wanted).all():
                return f"{size} bytes at {start} are not what they should be filled with"
            band[list(damage)] ^= 0x40
            driver.upload(device.stream, start, band)
            bands, plain = guarded([(start, size, 0)]), filled([(start, size, PATTERN, 0)])
            rows = device.table(bands if pattern == GUARD else plain)
            found = device.put(np.zeros(16, dtype=np.uint8))
            device.support.guards(*rows, found)
            words = device.get(found, 16).view(np.uint64).tolist()
            wanted = [size - min(damage), max(damage) + 1] if damage else [0, 0]
            if words != wanted:
                return f"{size} bytes, damaged at {damage}: {words}"
    return ""


def gathers(device: Device) -> str:
    """`gather` makes strided elements dense."""
    for elements in ELEMENTS:
        device.begin()
        memory = random_bytes(elements.span)
        dense = device.put(np.zeros(elements.nbytes, dtype=np.uint8))
        row = elements.row(device.put(memory), dense, 0, 0, falling=False)
        device.support.gather(*device.table(row))
        if device.get(dense, elements.nbytes).tobytes() != _seen(memory, elements).tobytes():
            return f"{elements}"
    return ""


def gaps(device: Device) -> str:
    """`gaps` counts what was damaged between elements."""
    for elements in ELEMENTS:
        device.begin()
        memory, inside = random_bytes(elements.span), np.zeros(elements.span, dtype=np.uint8)
        _seen(inside, elements)[...] = 1
        start = device.put(memory)
        held = patterned(start, elements.span)
        kept = rng.random(elements.span) < 0.5
        memory[kept] = held[kept]
        driver.upload(device.stream, start, memory)
        wrong = int(((memory != held) & (inside == 0)).sum())
        row = elements.row(start, 0, PATTERN, 0, falling=True)
        found = device.put(np.zeros(8, dtype=np.uint8))
        device.support.gaps(*device.table(row), found)
        (counted,) = device.get(found, 8).view(np.uint64).tolist()
        if counted != wrong:
            return f"{elements}: {counted}, not {wrong}"
    return ""


def _seen(memory: Bytes, elements: Elements) -> Bytes:
    """The elements in memory, each as its bytes."""
    steps = tuple(s * elements.itemsize for s in elements.strides)
    shape = (*elements.shape, elements.itemsize)
    return np.lib.stride_tricks.as_strided(memory, shape, (*steps, 1))


LAWS: tuple[Callable[[Device], str], ...] = (digests, moves, guards, gathers, gaps)


if __name__ == "__main__":
    used = Device()
    print(json.dumps({law.__name__: law(used) for law in LAWS}))
