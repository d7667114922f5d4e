"""Whole searches over answers as services and models give them: looks, cuts, refusals, breaks,
damaged code, and a run that is killed between two calls; each with what it cost to the digit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from brief_timing import COMMAND
from kernels import SOURCE
from messages_api import Refuses, Says, candidates, messages_api
from model_searches import (
    A_CALL,
    BROKEN,
    MENDED,
    Ran,
    Run,
    first_then_nothing,
    is_first,
    question,
)

from kernelwright.runners.model import Ending

NOTHING = Says(candidates())
LOOK = ("inspect", {"what": "skill", "id": "register-spill"})
CACHED = {
    "input_tokens": 7,
    "cache_creation_input_tokens": 1103,
    "cache_read_input_tokens": 20_011,
    "output_tokens": 307,
}
A_CACHED_CALL = Decimal("0.0156852")
"""dollars: 7 * 4 + 1103 * 4 * 1.25 + 20011 * 4 / 20 + 307 * 20, in millionths"""
DAMAGED = (
    "--- a/bump.cpp\n+++ b/bump.cpp\n@@ -8,2 +8,2 @@\n"
    "-void bumped(const float* x, float* y) {\n+void bump(const float* x, float* y) {\n"
)
ELIDED = SOURCE.replace("    for (int", "    // ... rest of the code unchanged\n    for (int")


def paid(ran: Ran) -> Counter[str]:
    """Tokens by kind that the search's account has."""
    return Counter(ran.costs.all.usage.model_dump())


def usual(calls: int) -> Counter[str]:
    """Tokens by kind of so many usual calls."""
    return Counter(input=1000 * calls, output=100 * calls, cache_write=0, cache_read=0)


def test_a_model_that_looks_first_pays_for_each_look_and_reads_what_the_tool_said(run: Run) -> None:
    ran = run(Says("I look.", calls=(LOOK,), usage=CACHED), Says(candidates(BROKEN)), NOTHING)
    (result,) = ran.asked[1]["messages"][-1]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "toolu_0")
    assert "spill" in result["content"]
    assert ran.steps == {"counts j": Ending.build_failed} and ran.stopped == "exhausted"
    others = len(ran.asked) - 1
    assert paid(ran) == usual(others) + Counter(
        input=7, cache_write=1103, cache_read=20_011, output=307
    )
    assert ran.costs.all.usd == A_CACHED_CALL + A_CALL * others
    assert ran.calls[1].sections["conversation"] > 0


def test_an_answer_that_is_cut_off_goes_on_where_what_the_model_sees_of_it_ends(run: Run) -> None:
    whole = candidates(MENDED)
    seen = whole[: whole.index(" again")]

    def goes_on(body: dict[str, Any]) -> Says:
        assert body["messages"][1]["content"] == [{"type": "text", "text": seen}]
        return Says(whole[len(seen) :])

    ran = run(Says(f"{seen} ", stop="max_tokens"), goes_on, NOTHING)
    assert ran.steps["i again"].measured and ran.stopped == "exhausted"
    assert paid(ran) == usual(len(ran.asked)) and ran.costs.all.usd == A_CALL * len(ran.asked)


def test_a_model_that_refuses_is_paid_for_and_ends_the_search_without_a_fault(run: Run) -> None:
    ran = run(Says("I would rather not.", stop="refusal"))
    assert ran.steps == {} and ran.stopped == "exhausted"
    assert len(ran.asked) == len(ran.calls) == 1
    assert paid(ran) == usual(1) and ran.costs.all.usd == A_CALL


def test_code_that_is_damaged_or_left_out_costs_no_build_and_its_reason_is_told(run: Run) -> None:
    damaged = {"method": "rename", "detail": "damaged", "diff": DAMAGED}
    elided = {"method": "rest", "detail": "elided", "source": ELIDED}

    def says(body: dict[str, Any]) -> Says:
        told = question(body)
        if "does not fit" in told and "stands for code that is not there" in told:
            return Says(candidates(MENDED)) if "i again" not in told else NOTHING
        return first_then_nothing(damaged, elided)(body)

    ran = run(says)
    assert ran.steps["damaged"] is ran.steps["elided"] is Ending.rejected
    assert ran.steps["i again"].measured and ran.stopped == "exhausted"
    assert paid(ran) == usual(len(ran.asked)) and ran.costs.all.usd == A_CALL * len(ran.asked)


def test_broken_json_and_a_stream_that_breaks_off_are_asked_again_and_both_are_paid(
    run: Run,
) -> None:
    ran = run(
        Says('{"candidates": [{"method"'),
        Says(candidates(BROKEN), breaks=True),
        Refuses(529, "overloaded_error"),
        Says(candidates(BROKEN)),
        NOTHING,
        backoff_s=0,
    )
    assert "This could not be used" in str(ran.asked[1]["messages"][-1])
    assert ran.asked[1] == ran.asked[2] == ran.asked[3]
    assert ran.steps == {"counts j": Ending.build_failed} and ran.stopped == "exhausted"
    answered = len(ran.asked) - 2
    # of the stream that broke off the service had counted one token; of the overload none
    assert paid(ran) == usual(answered) + Counter(input=1000, output=1)
    assert ran.costs.all.usd == A_CALL * answered + Decimal("0.00402")


def test_a_run_that_was_killed_between_two_calls_of_a_question_pays_for_none_twice(
    run: Run, begun: Path
) -> None:
    started: list[subprocess.Popen[str]] = []

    def kills(_: dict[str, Any]) -> Says:
        started[0].kill()
        return NOTHING

    looks = Says(calls=(LOOK,))
    with messages_api(Says(candidates(BROKEN)), looks, kills) as server:
        asks = [*COMMAND, "optimize", "--input", str(begun / "spec.json"), "--planner", "anthropic"]
        asks += ["--outdir", str(begun / "out"), "--planner-set", f"base_url={server.url}"]
        run_of_its_own = subprocess.Popen(
            [*asks, "--budget-builds", "8"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip
        started.append(run_of_its_own)
        _, told = run_of_its_own.communicate(timeout=120)
    assert run_of_its_own.returncode == -signal.SIGKILL, told
    resumed = run(NOTHING, resume=True)
    assert resumed.stopped == "exhausted" and resumed.asked
    assert resumed.asked[0]["messages"] == server.asked[2]["messages"]
    before = [json.dumps(body["messages"]) for body in server.asked[:2]]
    assert not set(before) & {json.dumps(body["messages"]) for body in resumed.asked}
    assert is_first(server.asked[0]) and not any(is_first(body) for body in resumed.asked)
    answered = 2 + len(resumed.asked)
    assert len(resumed.calls) == answered
    assert paid(resumed) == usual(answered) and resumed.costs.all.usd == A_CALL * answered
