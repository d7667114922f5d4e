"""What whoever plans makes of names and of a long memory, and what of it is taken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import Ending
from kernelwright.search.digest import Taught, digest, taught, verdict_of
from kernelwright.search.housekeeping.grouping import (
    BUDGET,
    FEWEST_NEW,
    Group,
    grouped,
    is_long,
    read_groups,
)
from kernelwright.search.housekeeping.relabel import (
    MOST,
    asked_data,
    known_methods,
    read_labels,
    to_classify,
)
from kernelwright.search.memory import Lesson
from kernelwright.search.planning.brief import tokens_of
from kernelwright.search.regraph.labels import Label
from kernelwright.search.regraph.tallies import aggregate
from kernelwright.search.regraph.transition import Transition
from kernelwright.server.planning.afterwards import instructions

KNOWN = {"increase_ilp": "more independent instructions", "their_trick": ""}
NAMES = ("my_trick", "sum_by_four")


def labels(*given: Mapping[str, object]) -> str:
    return json.dumps({"labels": given})


def line(way: str, times: int = 1, better: int = 0, gain: float | None = None) -> Taught:
    return Taught(
        method="tune",
        way=way,
        verdict=verdict_of(times, better),
        times=times,
        better=better,
        failed=times if gain is None else 0,
        gain=gain,
    )


def test_an_answer_names_a_method_of_the_list_or_a_new_one_for_each_name() -> None:
    text = labels(
        {"method": "Winograd transform", "existed": False},
        {"method": "increase_ilp", "existed": True},
    )
    mine, theirs = read_labels(f"Here it is:\n```json\n{text}\n```", NAMES, KNOWN, "now")
    assert (mine.name, mine.into, mine.by) == ("my_trick", "winograd_transform", "model")
    assert (theirs.name, theirs.into) == ("sum_by_four", "increase_ilp")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (labels({"method": "increase_ilp", "existed": True}), "1 labels for 2 names"),
        (labels(*[{"method": "increase_ilp", "existed": True}] * 3), "3 labels for 2 names"),
        (labels(*[{"method": "increase", "existed": True}] * 2), "called increase"),
        (labels(*[{"method": "increase_ilp"}] * 2), "Field required"),
        (labels(*[{"method": "increase_ilp", "existed": "yes"}] * 2), "bool"),
        ('{"labels": {}}', "holds no labels: a JSON object without a list `labels`"),
        ("I would call both of them unrolling.", "no JSON object in"),
        ('{"labels": [', "broken JSON"),
    ],
)
def test_an_answer_of_another_length_or_form_is_refused_whole(text: str, wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        read_labels(text, NAMES, KNOWN, "now")


def test_only_names_that_nobody_has_spoken_of_are_asked_about() -> None:
    said = Label(name="said", into="increase_ilp", by="hand")
    row = Transition(
        kernel_id="k",
        search_id="s",
        from_method="baseline",
        to_method="their_trick",
        ending=Ending.tie,
    )
    graph = aggregate([row], labels=[said])
    tried = ("my_trick", "increase_ilp", "smem_tiling", "said", "my_trick", "baseline")
    assert to_classify(graph, tried) == ("my_trick",)
    known = known_methods(graph, ("my_trick",))
    assert "their_trick" in known and known["increase_ilp"] and "baseline" not in known
    assert len(to_classify(graph, [f"trick_{n}_of_mine" for n in range(99)])) == MOST
    asked = json.loads(asked_data(known, {"my_trick": "sums by four"}))
    assert asked["names"] == [{"name": "my_trick", "detail": "sums by four"}]


def test_lines_that_teach_one_thing_are_one_with_their_counts_added_up() -> None:
    lines = [line("a", 3, 2, 0.1), line("b", 2, 2, 0.4), line("c", 2)]
    group = Group(says="more warps pay", of=(("tune", "a"), ("tune", "b"), ("tune", "gone")))
    first, second = grouped(lines, [group])
    assert (first.says, first.times, first.better, first.gain) == ("more warps pay", 5, 4, 0.4)
    assert first.describe().startswith("more warps pay: 4 of 5 tries gained")
    assert second == lines[2]
    assert list(digest([first, second])) == ["works", "does not work"]


def test_a_group_whose_lines_later_tries_set_apart_is_told_by_verdict() -> None:
    lines = [line("a", 2, 2, 0.1), line("b", 2)]
    group = Group(says="more warps", of=(("tune", "a"), ("tune", "b")))
    assert {each.verdict for each in grouped(lines, [group])} == {"works", "does not work"}


@given(st.lists(st.integers(0, 9), max_size=12), st.lists(st.integers(0, 9), max_size=12))
def test_grouping_loses_no_try(ways: list[int], together: list[int]) -> None:
    lines = [line(str(way), way + 1) for way in sorted(set(ways))]
    of = tuple(("tune", str(way)) for way in dict.fromkeys(together))
    found = grouped(lines, [Group(says="some", of=of)] if of else [])
    assert sum(each.times for each in found) == sum(each.times for each in lines)
    assert sum(each.failed for each in found) == sum(each.failed for each in lines)
    assert all(one.times >= other.times for one, other in pairwise(found))


def groups(*given: tuple[str, list[int]]) -> str:
    return json.dumps({"groups": [{"says": says, "of": of} for says, of in given]})


def test_an_answer_says_what_lines_of_one_verdict_teach() -> None:
    lines = [line("a", 2, 2, 0.1), line("b", 2, 2, 0.2), line("c", 2)]
    (group,) = read_groups(groups(("more  warps\npay", [0, 1])), lines)
    assert group == Group(says="more warps pay", of=(("tune", "a"), ("tune", "b")))
    assert read_groups(groups(), lines) == ()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (groups(("all of it", [0, 2])), "several verdicts: does not work, works"),
        (groups(("one", [0]), ("two", [0])), r"lines \[0\] stand in two groups"),
        (groups(("one", [3, -1])), r"no lines \[-1, 3\]"),
        (groups(("one", [])), "at least 1 item"),
        (groups(("x" * 300, [0])), "at most 240"),
        ("Nothing works.", "holds no groups"),
    ],
)
def test_an_answer_that_makes_things_up_is_refused(text: str, wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        read_groups(text, [line("a", 2, 2, 0.1), line("b", 2, 2, 0.2), line("c", 2)])


def test_a_memory_is_long_once_its_lines_outgrow_the_brief_and_enough_of_them_are_new() -> None:
    lessons = [
        Lesson(
            kernel_id="k",
            parent="v1",
            method=f"trick_{n}",
            detail=f"TILE={n} -> TILE={n + 1}",
            changed="TILE",
            ending=Ending.wrong,
            lesson="gate is_right: output y differs at [4567]",
        )
        for n in range(40)
    ]
    lines = taught(lessons)
    assert sum(tokens_of(each.describe()) for each in lines) > BUDGET
    assert is_long(lines, ()) and not is_long(lines[:4], ())
    known = tuple((each.method, each.way) for each in lines[: len(lines) - FEWEST_NEW + 1])
    assert not is_long(lines, [Group(says="all fail", of=known)])


@pytest.mark.parametrize("task", ["relabel", "compact"])
def test_instructions_are_short_and_promise_the_form_that_is_read(task: str) -> None:
    text = instructions(task)
    assert tokens_of(text) <= 500
    if task == "relabel":
        assert '"existed": true' in text and "As many labels as there are names" in text
    else:
        assert '"groups"' in text and '"of"' in text and "one verdict" in text
