"""What support.cu's kernels are told to do, as arrays of numbers; pure.

A run works in *sets*: equal copies of all buffers, each buffer between guard bands. Tables are
made for all sets at once; a row of a table is the work of one block of threads.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .cuda_driver.faults import RunFault

PLAUSIBLE = (*range(0x44, 0x60), *range(0xC4, 0xE0))
"""Bytes that, repeated, are numbers of some size in every type: what is read of them shows."""
GUARD = 0
"""The pattern of guard bands: every 8 bytes of them hold another number, by a key of `Support` and
where they lie. All other patterns are words of 8 bytes, over and over."""
BLANK = secrets.choice(PLAUSIBLE)
"""The byte of memory that no sample needs, drawn for each process as all that it fills memory with:
no code that is loaded into one knows it."""
GAP = secrets.choice([byte for byte in PLAUSIBLE if byte != BLANK])
"""The byte between the elements of arrays that are changed in place."""
CHUNK = 256 << 10
"""bytes that one block moves or digests"""
WORD = 4
GOLDEN = 0x9E3779B97F4A7C15
MOST_DIMS = 8

Table = npt.NDArray[Any]
PIECE = np.dtype([(n, "<u8") for n in ("target", "source", "nbytes", "pattern")])
DIGESTED = np.dtype([(n, "<u8") for n in ("start", "nbytes", "first", "result")])
GUARDED = np.dtype([(n, "<u8") for n in ("start", "nbytes", "pattern", "result")])
STRIDED = np.dtype(
    [
        *[
            (n, "<u8")
            for n in ("start", "dense", "count", "itemsize", "dims", "span", "pattern", "result")
        ],
        ("sizes", "<u8", (MOST_DIMS,)),
        ("strides", "<u8", (MOST_DIMS,)),
    ]
)


Numbers = npt.NDArray[np.uint64]


def pieces(rows: Sequence[tuple[int, int, int, int]]) -> Table:
    """Moves as (target, source, nbytes, pattern), cut into chunks; source 0 fills."""
    target, source, nbytes, pattern = _columns(rows, 4)
    row, offset, size = cut(nbytes)
    moving = np.where(source[row] == 0, np.uint64(0), source[row] + offset)
    return _table(PIECE, target[row] + offset, moving, size, pattern[row])


def digested(rows: Sequence[tuple[int, int, int, int]]) -> Table:
    """Digests as (start, nbytes, first, result), cut into chunks.

    `first`: which word of the result the first one is; a result may have several rows.
    """
    start, nbytes, first, result = _columns(rows, 4)
    row, offset, size = cut(nbytes)
    words = first[row] + offset // np.uint64(WORD)
    return _table(DIGESTED, start[row] + offset, size, words, result[row])


def filled(rows: Sequence[tuple[int, int, int, int]]) -> Table:
    """Rows of `guards` as (start, nbytes, pattern, result) for spans of any size, cut into chunks;
    results are counted from the chunk, so that they tell no more than whether all is filled."""
    start, nbytes, pattern, result = _columns(rows, 4)
    row, offset, size = cut(nbytes)
    return _table(GUARDED, start[row] + offset, size, pattern[row], result[row])


def guarded(rows: Sequence[tuple[int, int, int]]) -> Table:
    """Guard bands as (start, nbytes, result)."""
    start, nbytes, result = _columns(rows, 3)
    return _table(GUARDED, start, nbytes, np.full_like(start, GUARD), result)


def cut(nbytes: Numbers) -> tuple[npt.NDArray[np.int64], Numbers, Numbers]:
    """Spans of these sizes in pieces of at most CHUNK bytes: of which span each is, where in it
    it begins, and its size. All but a span's last are whole multiples of 16."""
    sizes = nbytes.astype(np.int64)
    counts = -(-sizes // CHUNK)
    row = np.repeat(np.arange(sizes.size), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    offset = (np.arange(row.size) - before) * CHUNK
    size = np.minimum(CHUNK, sizes[row] - offset)
    return row, offset.astype(np.uint64), size.astype(np.uint64)


def _columns(rows: Sequence[tuple[int, ...]], count: int) -> Numbers:
    return np.array(rows, dtype=np.uint64).reshape(-1, count).T


def _table(kind: np.dtype[Any], *columns: Numbers) -> Table:
    """Columns as records, in the order of the fields, all of which are uint64."""
    return np.stack(columns, axis=1).reshape(-1).view(kind)


@dataclass(frozen=True)
class Elements:
    """The elements of a strided array: sizes and strides in elements, as numpy has them."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the elements alone."""
        return self.count * self.itemsize

    @cached_property
    def span(self) -> int:
        """Bytes from the first element to the end of the last."""
        if not self.count:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.itemsize

    @cached_property
    def dense(self) -> bool:
        """Whether they follow each other in row-major order."""
        step = 1
        for size, stride in reversed(list(zip(self.shape, self.strides, strict=True))):
            if size > 1 and stride != step:
                return False
            step *= max(1, size)
        return True

    @cached_property
    def gapless(self) -> bool:
        """Whether every byte of the span belongs to an element."""
        return self.span == self.nbytes

    def row(self, start: int, dense: int, pattern: int, result: int, *, falling: bool) -> Table:
        """The row of support.cu that describes them. `falling`: dimensions by falling stride.

        Raises RunFault for more than MOST_DIMS dimensions of more than one element.
        """
        dims = [
            (n, s * self.itemsize) for n, s in zip(self.shape, self.strides, strict=True) if n > 1
        ]
        if falling:
            dims.sort(key=lambda dim: -dim[1])
        if len(dims) > MOST_DIMS:
            text = f"refused: an output of {len(dims)} dimensions; up to {MOST_DIMS} can be read"
            raise RunFault("refused", text, lost=False)
        made = np.zeros(1, dtype=STRIDED)
        fields = (start, dense, self.count, self.itemsize, len(dims), self.span, pattern, result)
        for name, value in zip(STRIDED.names or (), fields, strict=False):
            made[name] = value
        for axis, (size, stride) in enumerate(dims):
            made["sizes"][0, axis], made["strides"][0, axis] = size, stride
        return made


def repeated(pattern: int) -> int:
    """A byte as a word; a word as it is."""
    return pattern * 0x0101010101010101 if pattern < 256 else pattern


def keyed_bytes(start: int, nbytes: int, key: int) -> npt.NDArray[np.uint8]:
    """What a fill with a key leaves at an address: the law that support.cu is tested against."""
    words = np.arange(start // 8, -(-(start + nbytes) // 8), dtype=np.uint64)
    with np.errstate(over="ignore"):
        numbers = splitmix64(np.uint64(key) + words * np.uint64(GOLDEN))
    return numbers.astype("<u8").view(np.uint8)[start % 8 : start % 8 + nbytes]


def splitmix64(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of support.cu, for many numbers at once."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def digest_words(data: bytes, keys: tuple[int, int]) -> tuple[int, int]:
    """What support.cu's `digest` gives for these bytes: the law that it is tested against."""
    words = np.frombuffer(data + bytes(-len(data) % WORD), dtype="<u4").astype(np.uint64)
    steps = (np.arange(words.size, dtype=np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
    with np.errstate(over="ignore"):
        lanes = [
            int((words * splitmix64(np.uint64(key) + steps)).sum(dtype=np.uint64)) for key in keys
        ]
    return lanes[0], lanes[1]
