"""Which instruction of a GPU may come after which: branches, read from instruction words."""

from __future__ import annotations

from collections.abc import Iterator

Word = tuple[int, int]
"""an instruction: the low and the high half of its 128 bits"""
BYTES = 16
"""of an instruction"""
BRANCH, EXIT, MEETING = 0x147, 0x14D, frozenset({0x145, 0x148})
"""by the lowest 9 bits; MEETING: BSSY and WARPSYNC, which may name the place where threads go on
together"""
ALWAYS = 7
"""the predicate that is always true"""
PLAIN = 0x947
"""the lowest 12 bits of a branch without an operand of its own"""


def number(word: Word) -> int:
    """What instruction it is."""
    return word[0] & 0x1FF


def guard(word: Word) -> tuple[int, bool]:
    """The predicate under which it is carried out, and whether that is where it does not hold."""
    return word[0] >> 12 & 7, bool(word[0] >> 15 & 1)


def following(at: int, word: Word) -> Iterator[int]:
    """The places that may come next."""
    own = number(word)
    if own == BRANCH:
        yield target(at, word)
    if own in MEETING:
        yield at + 1 + _signed(word[0] >> 32, 32) // BYTES
    if own not in (BRANCH, EXIT) or not unconditional(word):
        yield at + 1


def target(at: int, branch: Word) -> int:
    """Where a branch goes: its offset from the next instruction is a number of 56 bits, of words
    of 4 bytes."""
    low, high = branch
    words = low >> 16 & 0xFF | (low >> 34 & 0x3FFFFFFF) << 8 | (high & 0x3FFFF) << 38
    return at + 1 + 4 * _signed(words, 56) // BYTES


def unconditional(word: Word) -> bool:
    """Whether a branch or an exit is taken by all threads that come to it."""
    low, high = word
    plain = low & 0x1FF == EXIT or low & 0xFFF == PLAIN
    return plain and low >> 12 & 0xF == ALWAYS and high >> 23 & 0xF == ALWAYS


def _signed(number: int, bits: int) -> int:
    return number - (number >> bits - 1 << bits)
