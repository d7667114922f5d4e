"""What a kernel promises or counts on, and a GPU need not keep, is found under the interpreter."""

from __future__ import annotations

import pytest
from interpreting import ADD, InterpreterBench

AT = "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"


@pytest.mark.parametrize(
    ("promise", "told"),
    [
        ("n = tl.multiple_of(n, 16)", "multiple_of(..., 16)"),
        ("x = tl.multiple_of(x + 1, 16) - 1", "multiple_of(..., 16)"),
        ("at = tl.max_contiguous(at * 2 // 3, 4)", "max_contiguous(..., 4)"),
        ("at = tl.max_constancy(at, 8)", "max_constancy(..., 8)"),
    ],
)
def test_a_promise_that_does_not_hold_is_told_with_its_line(
    interpreted: InterpreterBench, promise: str, told: str
) -> None:
    found = interpreted.check(ADD.replace(AT, f"{AT}\n    {promise}"))
    assert found.outcome == "failed", found.message
    assert told in found.message and "(line 9" in found.message


def test_what_is_not_assumed_rightly_fails(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD.replace(AT, f"{AT}\n    tl.assume(n % 16 == 0)"))
    assert found.outcome == "failed" and "Assume" in found.message


@pytest.mark.parametrize(
    "promise",
    [
        "at = tl.max_contiguous(tl.multiple_of(at, BLOCK), BLOCK)",
        "x = tl.multiple_of(x, 4)",
        "tl.assume(n > 0)",
        "row = tl.max_contiguous(tl.multiple_of(at % n, BLOCK), BLOCK)",
        "half = tl.max_constancy(at // 8, 8)",
    ],
)
def test_a_promise_that_holds_passes(interpreted: InterpreterBench, promise: str) -> None:
    found = interpreted.check(ADD.replace(AT, f"{AT}\n    {promise}"))
    assert found.outcome == "passed", found.message


def test_programs_find_nothing_of_those_before_them(interpreted: InterpreterBench) -> None:
    follows = ADD.replace(
        "total = tl.load(x + at, mask=inside)",
        "before = tl.load(out + at - 1, mask=inside & (at >= BLOCK), other=0.0)\n"
        "    total = 0.0 * before + tl.load(x + at, mask=inside)",
    )
    found = interpreted.check(follows)
    assert found.outcome == "failed" and found.evidence["gate"] == "is_right", found.message


def test_programs_that_wait_for_those_before_them_come_in_turn(
    interpreted: InterpreterBench,
) -> None:
    ticket = ADD.replace(
        "inside = at < n",
        "inside = at < n\n    while tl.atomic_add(out, 0.0) != 0.0 and tl.program_id(0) > n:\n"
        "        at += 0",
    )
    assert interpreted.check(ticket).outcome in ("passed", "skipped")
