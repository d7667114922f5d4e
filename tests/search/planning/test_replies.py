"""Answers as text: what is taken from them, and what is said of those that cannot be used."""

from __future__ import annotations

import json
import re

import pytest

from kernelwright.runners import progress
from kernelwright.runners.errors import SpecError
from kernelwright.search.planning.replies import MOST_BYTES, read_reply, take_reply

UNROLL = {"method": "unroll", "parameters": {"UNROLL": 4}}
WHOLE = json.dumps({"candidates": [UNROLL]})


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"Here it is:\n```json\n{WHOLE}\n```\nI hope that it helps. {{}}",
        f"with braces {{ in }} prose {WHOLE}",
        json.dumps(UNROLL),
    ],
)
def test_candidates_are_found_whatever_stands_around_them(text: str) -> None:
    (found,) = read_reply(text)
    assert (found.method, found.parameters) == ("unroll", {"UNROLL": 4})


def test_an_empty_list_says_that_there_is_nothing_more() -> None:
    assert read_reply('{"candidates": []}') == ()


def test_one_that_is_none_is_left_out_beside_one_that_is() -> None:
    both = json.dumps({"candidates": [{"method": "nothing changes"}, UNROLL]})
    assert [each.method for each in read_reply(both)] == ["unroll"]


def test_what_is_left_out_is_told_to_whoever_waits() -> None:
    heard = list[str]()

    class Heard(progress.Listener):
        def report(self, message: str) -> None:
            pass

        def found(self, message: str) -> None:
            heard.append(message)

    both = json.dumps({"candidates": [UNROLL, {"method": "nothing changes"}]})
    with progress.listening(Heard()):
        assert [each.method for each in take_reply(both)] == ["unroll"]
    (line,) = heard
    assert line.startswith("left out of the answer: candidates.1: Value error, a candidate needs")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I would rather not.", "no JSON object in 'I would rather not.'"),
        (WHOLE[:-5], "broken JSON"),
        ('{"answer": 1}', "a JSON object without `candidates`"),
        ('{"candidates": [{"method": "m"}]}', "candidates.0: Value error, a candidate needs"),
        ("{" * 100_000, "broken JSON"),
        ("x" * (MOST_BYTES + 1), "the answer has more than 2 MiB"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_reason(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=re.escape(told)):
        read_reply(text)
