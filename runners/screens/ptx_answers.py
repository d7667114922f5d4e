"""Answers of `mbarrier.try_wait` and `test_wait` that decide nothing, in the PTX of a kernel.

Machine code shows what becomes of the predicate (`instructions/asked_once.py`), and no more once it
is a number. Here an answer is followed through what is computed from it: it decides where a branch,
or any other instruction, is carried out under a predicate that it went into, and may where it goes
to memory of the block, to a function or to other threads. Names are followed without their order,
so that what is told is certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

REASON = (
    "asks once whether a barrier's phase is over, and nothing that is done depends on the answer: "
    "mbarrier.try_wait may come back before that, and has to be asked again then"
)
KEY = "mbarrier.t"
_ASKS = re.compile(r"mbarrier\.(?:try|test)_wait[\w.:]*")
_STATEMENT = re.compile(
    r"(?:[\s{}]|[\w$%]+:(?!:)|\.(?:loc|file|pragma)\b[^\n]*\n)*(?:@!?\s*(%?[\w$]+)\s+)?([a-z][\w.:]*)\s*([^;]*);"
)
_NAME = re.compile(r"%?[A-Za-z_$][\w$]*")
_HANDED_ON = re.compile(
    r"st\.(?:volatile\.)?(?:shared|local|param)|call|ret|st\.async|red|atom|stmatrix"
)
"""what takes an answer to where it may decide later"""


@dataclass(frozen=True, slots=True)
class _Statement:
    at: int
    guard: str
    name: str
    results: frozenset[str]
    operands: frozenset[str]


def unused_answers(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """(position, instruction) of each question in a body, from `start` to `end`, whose answer
    decides nothing. `text`: PTX without comments."""
    if text.find(KEY, start, end) < 0:
        return
    statements = list(_statements(text, start, end))
    for each in statements:
        if _ASKS.fullmatch(each.name) and not _decides(each, statements):
            yield each.at, each.name


def _statements(text: str, start: int, end: int) -> Iterator[_Statement]:
    for found in _STATEMENT.finditer(text, start, end):
        first, _, others = found[3].partition(",")
        results = frozenset(_NAME.findall(first))
        yield _Statement(
            found.start(2), found[1] or "", found[2], results, frozenset(_NAME.findall(others))
        )


def _decides(asking: _Statement, statements: list[_Statement]) -> bool:
    known, before = set(asking.results - {"_"}), -1
    while len(known) != before:
        before = len(known)
        for each in statements:
            if each.guard in known:
                return True
            if each is asking or not known & (each.operands | _stored(each)):
                continue
            if _HANDED_ON.match(each.name):
                return True
            known |= each.results
    return False


def _stored(statement: _Statement) -> frozenset[str]:
    """A call names what it hands over in no order that matters here."""
    return statement.results if statement.name.startswith("call") else frozenset()
