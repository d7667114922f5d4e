"""Waits at an mbarrier that go on whatever the answer is, found in the machine code of a kernel.

`mbarrier.try_wait` waits for a time that the system chooses, and says whether the phase is over;
`test_wait` says it at once. Honest code asks again, or does something else, where it is not. ptxas
13.0 makes SYNCS.PHASECHK of both, with the answer in a predicate, for sm_90a, sm_100a and sm_120a.

Told is what is certain: an answer on which nothing depends before shared memory is used, and one
after which shared memory is used by the same instructions, unasked, whether it was yes or no. Where
an answer goes into numbers, PTX knows more (`ptx_answers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..findings import Finding
from .flow import ALWAYS, BRANCH, EXIT, Word, following, guard, number, target, unconditional

NAME = "SYNCS.PHASECHK"
REASON = (
    "asks once whether a barrier's phase is over, and uses shared memory whatever the answer is: "
    "mbarrier.try_wait may come back before that, and has to be asked again then"
)
PHASECHK = 0x5A7
"""the lowest 12 bits"""
USES = frozenset(
    {0x180, 0x185, 0x184, 0x188, 0x03B, 0x044, 0x18C, 0x18D}  # LD ST LDS STS LDSM STSM ATOMS (2)
    | {0x1F0, 0x1F1, 0x1F2, 0x1F3, 0x1EA, 0x1E7}  # HGMMA IGMMA BGMMA QGMMA UTC*MMA UTCCP
    | {0x1B4, 0x1B5, 0x1B6, 0x1BA, 0x1BB}  # UTMALDG UTMASTG UTMAREDG UBLKCP UBLKRED
)
"""what reads or writes shared memory, by the lowest 9 bits"""
DEFINES = frozenset(
    {0x004, 0x006, 0x00B, 0x00C, 0x010, 0x011, 0x012, 0x01C, 0x02A, 0x02F, 0x034, 0x102, 0x189}
)
"""R2P VOTE FSETP ISETP IADD3 LEA LOP3 PLOP3 DSETP ELECT HSETP2 FCHK SHFL: results in predicates"""
DEFINES_TWO = frozenset({0x00B, 0x00C, 0x010, 0x01C, 0x02A, 0x034})
"""those of them that may have two"""
NO_PREDICATES = frozenset(
    {0x002, 0x005, 0x016, 0x019, 0x020, 0x021, 0x023, 0x029, 0x02B, 0x030, 0x031, 0x035, 0x036}
    | {0x03B, 0x03E, 0x044, 0x045, 0x082, 0x087, 0x090, 0x091, 0x096, 0x099, 0x09A}
    | {0x0B9, 0x0BD, 0x0BF, 0x0CA, 0x0CB}
)
"""arithmetic that has other things, or nothing, where others name a predicate that they read"""
P2R = 0x003
MANY = frozenset({0x010, 0x01C})
"""IADD3 and PLOP3, which read several"""
CALLS = frozenset({0x143, 0x144})
"""nothing tells here whether they come back"""
ELSEWHERE = frozenset({0x149, 0x14A, 0x14C, 0x150})
"""BRX, JMP, JMX and RET: where they go is not told here"""
TRAP = 0x15C

Side = Literal["asked", "yes", "no"]


@dataclass(frozen=True, slots=True)
class _State:
    at: int
    side: Side
    """what is known of the answer where a thread is"""
    live: bool
    """whether the predicate still holds it"""


def asked_once_findings(code: Sequence[Word]) -> Iterator[tuple[int, Finding]]:
    """The place of each question whose answer decides nothing, and what is to be said of it.

    `code`: all instructions of the kernels of a cubin that are launched.
    """
    for at, word in enumerate(code):
        if _asks(word) and _goes_on(code, at):
            yield at, Finding("block", 0, NAME, REASON)


def _goes_on(code: Sequence[Word], start: int) -> bool:
    """Whether shared memory is certainly used whatever the answer is."""
    answer = _result(code[start])
    used: dict[Side, set[int]] = {"asked": set(), "yes": set(), "no": set()}
    seen, waiting = set[_State](), [_State(start + 1, "asked", answer != ALWAYS)]
    while waiting:
        state = waiting.pop()
        if state in seen or not 0 <= state.at < len(code):
            continue
        seen.add(state)
        word = code[state.at]
        mine = state.live and guard(word)[0] == answer
        if _asks(word):
            if mine and _result(word) == answer:  # ptxas asks twice where a time is given
                waiting.append(replace(state, at=state.at + 1))
            continue
        ends = number(word) == TRAP or number(word) in CALLS
        if number(word) in ELSEWHERE or (ends and state.side == "asked" and state.live):
            return False
        if ends:
            continue
        if state.live and _reads(word, answer):
            return False  # it goes into numbers, which are not followed here
        if number(word) in USES and not mine:
            used[state.side].add(state.at)
        waiting += _after(state, word, answer) if mine else _plain(state, word, answer)
    decided = any(state.side != "asked" for state in seen)
    return bool(used["yes"] & used["no"] if decided else used["asked"])


def _plain(state: _State, word: Word, answer: int) -> list[_State]:
    """After an instruction that does not hang on the answer."""
    gone = answer in _results(word) and guard(word) == (ALWAYS, False)
    live = state.live and not gone
    return [_State(at, state.side, live) for at in following(state.at, word)]


def _after(state: _State, word: Word, answer: int) -> list[_State]:
    """After an instruction under the answer: both sides of a branch, or what is known of it."""
    asks_for_no = guard(word)[1]
    own, onwards = number(word), state.at + 1
    if own not in (BRANCH, EXIT):
        return [replace(state, at=onwards)]
    taken, passed = ("no", "yes") if asks_for_no else ("yes", "no")
    sides: list[_State] = []
    if state.side != taken:
        sides.append(_State(onwards, passed, state.live))
    if state.side != passed and own == BRANCH:
        sides.append(_State(target(state.at, word), taken, state.live))
    return sides


def _asks(word: Word) -> bool:
    return word[0] & 0xFFF == PHASECHK


def _result(word: Word) -> int:
    return word[1] >> 17 & 7


def _results(word: Word) -> tuple[int, ...]:
    """The predicates that an instruction sets."""
    own = number(word)
    first = (_result(word),) if own in DEFINES else ()
    return (*first, word[1] >> 20 & 7) if own in DEFINES_TWO else first


def _reads(word: Word, predicate: int) -> bool:
    """Whether an instruction has a predicate among its operands, as far as fields tell."""
    own, high = number(word), word[1]
    if own == P2R:
        return True
    if own in MANY and predicate in (high >> 13 & 7, high >> 4 & 7):
        return True
    if own == BRANCH:
        return not unconditional(word) and high >> 23 & 7 == predicate
    return own < 0x100 and own not in NO_PREDICATES and high >> 23 & 7 == predicate
