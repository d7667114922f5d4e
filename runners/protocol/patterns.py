"""What lies in memory that nobody should read or write: drawn, never a constant.

A *poison* is a word of eight bytes that fills what a run is to write, over and over. Of its two
kinds one is NaN in every float type of two bytes or more, whatever part of the word an element is;
the other is a plausible number in each. All else of a word is drawn with the pool of its inputs, so
no kernel can know either by itself. Its lowest byte is NaN, too, where a type has one byte.
"""

from __future__ import annotations

import secrets
from typing import Literal

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Poisons = tuple[int, int]
"""NaN, and a number"""
WORD = 8
_WORDS = np.dtype("<u8")
FEW_BYTES = 1 << 14
"""up to which to make objects of Python of two arrays and compare them takes less time than to have
numpy compare them"""
_LANES = WORD // 2
_NAN, _NUMBER = 0x7FF0, 0x3F00
"""of the 16 bits of a lane: the exponents of bfloat16, float16 and float64 at once; 0.5 to 2"""


def draw_poisons() -> Poisons:
    """Two words for a pool."""
    nan = [secrets.randbits(1) << 15 | _NAN | secrets.randbits(4) for _ in range(_LANES)]
    number = [
        secrets.randbits(1) << 15 | _NUMBER | 1 + secrets.randbelow(0xFE) for _ in range(_LANES)
    ]
    return _word([nan[0] | 0xF, *nan[1:]]), _word(number)


def kind_of(poison: int) -> Literal["nan", "number"]:
    """What a word is, for people: the word itself is told to nobody."""
    return "nan" if poison >> 48 & _NAN == _NAN else "number"


def repeated(poison: int, nbytes: int) -> Bytes:
    """The word over and over in so many bytes."""
    return np.full(-(-nbytes // WORD), poison, dtype=_WORDS).view(np.uint8)[:nbytes]


def put(target: Bytes, poison: int) -> None:
    """Fill memory with the word."""
    whole = target.size - target.size % WORD
    target[:whole].view(_WORDS)[...] = poison
    if whole < target.size:
        target[whole:] = repeated(poison, WORD)[: target.size - whole]


def holds(found: Bytes, poison: int) -> bool:
    """Whether memory still is filled with the word."""
    whole = found.size - found.size % WORD
    if not (found[:whole].view(_WORDS) == poison).all():
        return False
    return whole == found.size or same_bytes(found[whole:], repeated(poison, found.size - whole))


def same_bytes(a: Bytes, b: Bytes) -> bool:
    """Whether two arrays of bytes are equal, many of them compared eight at a time."""
    if a.size != b.size:
        return False
    if a.size <= FEW_BYTES:
        return a.tobytes() == b.tobytes()
    whole = a.size - a.size % WORD
    if not (a[:whole].view(_WORDS) == b[:whole].view(_WORDS)).all():
        return False
    return a[whole:].tobytes() == b[whole:].tobytes()


def _word(lanes: list[int]) -> int:
    return sum(lane << 16 * index for index, lane in enumerate(lanes))
