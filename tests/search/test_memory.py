"""A kernel's memory: what is told to planners, and what they leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lift import SOURCE, load

from kernelwright.runners.model import BuildOptions, Candidate, Ending
from kernelwright.search.memory import TOLD, Idea, Lesson, Memory, change_key, most_telling
from kernelwright.search.moves.shared.base import State
from kernelwright.search.planning.planner import Context, client_planner, run_planner
from kernelwright.search.planning.rules import DOUBT, rules_planner
from kernelwright.search.regraph.ways import way_of
from kernelwright.search.stored.recalling import recall
from kernelwright.store.store import STATE_FILE, Store


def lesson(
    changed: str = "TILE=32",
    ending: Ending = Ending.wrong,
    *,
    parent: str = "vhere",
    change: str = "",
    detail: str = "",
    gain: float | None = None,
    variant: str | None = None,
) -> Lesson:
    return Lesson(
        kernel_id="k",
        parent=parent,
        change=change or changed,
        method="tune_parameters",
        detail=detail,
        changed=changed,
        ending=ending,
        gain=gain,
        lesson="gate first: wrong",
        variant_id=variant or f"{parent}{changed}{detail}",
    )


@pytest.fixture
def context(tmp_path: Path) -> Context:
    spec = load(tmp_path).spec
    return Context("s", "vhere", State("cpp", SOURCE, {}, BuildOptions(), spec))


def test_what_failed_from_this_state_is_closed_and_what_was_measured_is_not() -> None:
    memory = Memory(
        [
            lesson("A=1"),
            lesson("A=2", Ending.faster, gain=1.0),
            lesson("A=3", Ending.unstable),
            lesson("A=4", parent="vother"),
            lesson("A=5", Ending.lost),
        ]
    )
    assert memory.at("vhere").closed == {"A=1"}
    assert memory.at("vother").closed == {"A=4"}


def test_what_never_worked_elsewhere_is_doubted() -> None:
    memory = Memory(
        [
            lesson("A=1", parent="vone"),
            lesson("A=1", parent="vtwo"),
            lesson("A=2", parent="vone"),
            lesson("A=2", Ending.slower, parent="vtwo"),
        ]
    )
    assert memory.at("vhere").doubted == {"A=1"}


def test_an_idea_is_told_once_with_how_often_it_was_tried() -> None:
    memory = Memory([lesson(parent="vone"), lesson(parent="vtwo"), lesson(parent="vone")])
    (idea,) = memory.ideas()
    assert (idea.times, idea.failed) == (2, 2)  # the same from the same state: nobody paid again
    assert idea.describe() == (
        "tune_parameters TILE=32, 2 times elsewhere: wrong: gate first: wrong"
    )


def test_rewrites_of_the_source_are_told_apart_by_their_words() -> None:
    memory = Memory([lesson("source", detail="by rows"), lesson("source", detail="by columns")])
    assert [idea.detail for idea in memory.ideas()] == ["by rows", "by columns"]


def test_ten_ideas_are_told_those_of_this_state_first_and_the_oldest_stay_longest() -> None:
    elsewhere = [lesson(f"B={n}", parent="vother") for n in range(12)]
    here = [lesson(f"A={n}", Ending.tie, gain=0.01 * n) for n in range(3)]
    worked = lesson("C=1", Ending.faster, parent="vother", gain=2.0)
    told = Memory([*elsewhere, *here, worked]).at("vhere").ideas
    assert len(told) == TOLD
    assert [idea.changed for idea in told[:3]] == ["A=2", "A=1", "A=0"]
    assert [idea.changed for idea in told[3:]] == [f"B={n}" for n in range(7)]


def test_failures_come_before_gains_among_those_of_this_state() -> None:
    memory = Memory([lesson("A=1", Ending.faster, gain=2.0), lesson("A=2")])
    assert [idea.changed for idea in most_telling(memory.ideas("vhere"))] == ["A=2", "A=1"]


def test_rows_of_older_versions_are_remembered_as_of_another_state(tmp_path: Path) -> None:
    old = {
        "kernel_id": "k",
        "method": "compiler_flags",
        "detail": "",
        "changed": "-O2",
        "ending": "build_failed",
        "speedup": None,
        "lesson": "no",
        "variant_id": "v1",
    }
    with Store.open(tmp_path / STATE_FILE) as store:
        with store.transaction() as writer:
            writer.append("memory", old)
            writer.append("memory", {**old, "kernel_id": "another"})
        began = store.last("memory")
        with store.transaction() as writer:
            writer.append("memory", {**old, "changed": "-O1"})
        then, now = recall(store, "k", began), recall(store, "k")
    assert [each.changed for each in then.lessons] == ["-O2"]
    assert [each.changed for each in now.lessons] == ["-O2", "-O1"]
    (idea,) = then.at("vhere").ideas
    assert isinstance(idea, Idea) and not idea.here
    assert not then.at("vhere").closed


def proposed(context: Context) -> dict[str, Candidate]:
    found = run_planner(rules_planner, replace(context, wanted=100))
    assert isinstance(found, tuple)
    return {change_key(each, context.state): each for each in found}


def test_rules_leave_out_what_is_closed_and_doubt_what_failed_elsewhere(context: Context) -> None:
    before = proposed(context)
    closed, doubted = list(before)[:2]
    memory = Memory([lesson(change=closed), lesson("A=2", parent="vother", change=doubted)])
    after = proposed(replace(context, memory=memory.at("vhere")))
    assert after.keys() == before.keys() - {closed}
    assert after[doubted].prior == pytest.approx(DOUBT * before[doubted].prior)


def test_a_method_of_weight_0_is_left_out(context: Context) -> None:
    method = next(iter(proposed(context).values())).method
    left = proposed(replace(context, weights={method: 0.0})).values()
    assert method not in {each.method for each in left}


def test_a_question_tells_what_is_remembered(context: Context) -> None:
    memory = Memory([lesson()])
    question = next(client_planner(replace(context, memory=memory.at("vhere"))))
    assert [idea.changed for idea in question.remembered] == ["TILE=32"]
    assert question.remembered[0].here


def test_a_way_that_paid_elsewhere_raises_its_candidates_alone(context: Context) -> None:
    before = proposed(context)
    key, chosen = next(iter(before.items()))
    paid = chosen.method, way_of(chosen.detail)

    def ways(method: str, way: str) -> float:
        return 2.0 if (method, way) == paid else 1.0

    after = proposed(replace(context, ways=ways))
    assert after[key].prior == pytest.approx(2 * before[key].prior)
    others = [k for k, c in before.items() if way_of(c.detail) != way_of(chosen.detail)]
    assert others and all(after[k].prior == before[k].prior for k in others)
