"""Bulk copies to global memory that nothing waits for, found in the machine code of a kernel.

A block may end while the hardware still reads its shared memory for such a copy: what arrives is
whatever the next block has put there meanwhile, and it may arrive after the kernel has ended.
PTX asks for `cp.async.bulk.commit_group` and then `cp.async.bulk.wait_group`; ptxas 13.0 makes
UTMACMDFLUSH and DEPBAR.LE SB0 of them, for sm_90a as for sm_100a.

Told is what is certain: a copy after which, whatever branches do, no such pair can come. A wait
that some threads pass by is no finding, for one thread alone often does both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..findings import Finding
from .flow import Word, following, number

STORES = {0x1B5: "UTMASTG", 0x1B6: "UTMAREDG", 0x1BA: "UBLKCP.G.S", 0x1BB: "UBLKRED.G.S"}
"""by the lowest 9 bits"""
COPY, TO_GLOBAL = 0x1BA, 4
"""UBLKCP goes both ways: bits 72 to 75 of one that stores"""
COMMIT, WAIT = 0x1B7, 0x11A
ELSEWHERE = frozenset({0x143, 0x144, 0x149, 0x14A, 0x14C, 0x150})
"""CALL, BRX, JMP, JMX and RET: where they go is not told here"""


def bulk_store_findings(code: Sequence[Word]) -> Iterator[tuple[int, Finding]]:
    """The place of each copy that is not waited for, and what is to be said of it. `code`: all
    instructions of the kernels of a cubin that are launched, and of functions beside them."""
    stores = [at for at, word in enumerate(code) if _is_store(word)]
    if not stores:
        return
    flow = _Flow(code)
    left = {at: _left(word) for at, word in enumerate(code) if _waits(word)}
    commits = [at for at, word in enumerate(code) if number(word) == COMMIT]
    waited = flow.before([at for at, groups in left.items() if not groups])
    waited_somehow = flow.before(list(left))
    whole = flow.before([at for at in commits if at + 1 in waited])
    in_part = flow.before([at for at in commits if at + 1 in waited_somehow])
    committed = flow.before(commits)
    for at in stores:
        name = STORES[number(code[at])]
        if at in whole:
            continue
        if at in in_part:
            reason = "copies to global memory, and no wait comes for the last of its groups"
            yield at, Finding("probe", 0, name, reason)
            continue
        lacking = "waits for it" if at in committed else "commits it to a group"
        reason = (
            f"copies to global memory, and nothing {lacking} before the kernel ends: "
            "cp.async.bulk.commit_group and cp.async.bulk.wait_group 0 (or .read 0) are missing"
        )
        yield at, Finding("block", 0, name, reason)


class _Flow:
    """Which instruction may come before which."""

    def __init__(self, code: Sequence[Word]) -> None:
        self._anywhere = [at for at, word in enumerate(code) if number(word) in ELSEWHERE]
        self._into = defaultdict[int, list[int]](list)
        for at, word in enumerate(code):
            for onwards in following(at, word):
                self._into[onwards].append(at)

    def before(self, places: Sequence[int]) -> set[int]:
        """These, and all after which one of them may run."""
        seen = set[int]()
        waiting = [*places, *(self._anywhere if places else ())]
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += self._into[at]
        return seen


def _is_store(word: Word) -> bool:
    own = number(word)
    return own in STORES and (own != COPY or word[1] >> 8 & 0xF == TO_GLOBAL)


def _waits(word: Word) -> bool:
    """DEPBAR.LE SB0: other scoreboards count loads."""
    low = word[0]
    return low & 0x1FF == WAIT and low >> 47 & 1 == 1 and low >> 44 & 7 == 0


def _left(wait: Word) -> int:
    """How many groups may still be under way after a wait."""
    return wait[0] >> 38 & 0x3F
