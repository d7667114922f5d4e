"""Where walks start and go: rollouts, restarts, shared machine code, candidates put aside, builds
that are held."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from search_landscape import (
    ROOT,
    World,
    ask_next,
    asked,
    change,
    context_of,
    drive,
    engine_with,
    evaluate_next,
    measured,
    new_graph,
    reply,
)

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Evaluate, Outcome, Stopped, Waiting
from kernelwright.search.graph.nodes import Node
from kernelwright.search.planning.planner import Context, client_planner, question_from
from kernelwright.search.settings import Settings


def test_a_rollout_goes_on_from_a_success_until_its_steps_are_made() -> None:
    engine, world = engine_with(rollout_steps=2, budget_builds=12), World()
    steps = list[tuple[int, str, str | None]]()
    while isinstance(work := engine.next_work(), Evaluate):
        engine.record(work.edge_id, world(work))
        edge = engine.graph.edges[work.edge_id]
        steps.append((edge.rollout, edge.parent, edge.child))
    for (_, _, before), (number, parent, _) in pairwise(steps):
        if number:
            assert parent == before
    assert {number for number, _, _ in steps} == {0, 1, 2}


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(Ending.wrong, "TILE=2"),
        Outcome(Ending.rejected, message="no such tile"),
        Outcome(Ending.lost),
        measured(1.0, ROOT, duplicate_of_known=True),
        measured(2.0, "TILE=2", same_code_as=ROOT),
    ],
)
def test_a_rollout_does_not_begin_at_what_failed_or_was_known(outcome: Outcome) -> None:
    engine = asked(change(TILE=2), change(TILE=4), rollout_steps=2)
    engine.record(evaluate_next(engine).edge_id, outcome)
    assert evaluate_next(engine).parent == ROOT


def test_a_rollout_counts_where_it_went_and_not_above() -> None:
    engine = asked(change(TILE=2), rollout_steps=1)
    engine.record(evaluate_next(engine).edge_id, measured(1.5, "TILE=2"))
    engine.answer(ask_next(engine).node_id, reply(change(UNROLL=2)))
    engine.record(evaluate_next(engine).edge_id, measured(3.0, "TILE=2 UNROLL=2"))
    assert engine.graph.nodes["TILE=2"].visits == 2
    assert (engine.graph.root.visits, engine.graph.edges["e000000"].visits) == (2, 1)
    assert engine.graph.root.best.value == engine.graph.nodes["TILE=2 UNROLL=2"].reward


def test_restarts_begin_anywhere_and_count_from_there() -> None:
    engine, world = engine_with(restart_epsilon=1.0, budget_builds=30, seed=2), World()
    parents = set[str]()
    while isinstance(work := engine.next_work(), Evaluate):
        engine.record(work.edge_id, world(work))
        parents.add(work.parent)
    assert len(parents) > 5
    assert engine.graph.root.visits < engine.ledger.steps / 2


# Machine code that is that of another variant.


def test_two_sources_with_one_machine_code_are_one_node_and_keep_both_parents() -> None:
    a, b, c, d = "TILE=2", "TILE=4", "TILE=2 UNROLL=2", "TILE=4 UNROLL=4"
    engine = asked(change(TILE=2), change(TILE=4))
    for work in (evaluate_next(engine), evaluate_next(engine)):
        key = a if work.candidate == change(TILE=2) else b
        engine.record(work.edge_id, measured(2.0, key, spent_build=True))
    engine.answer(a, reply(change(UNROLL=2)))
    engine.answer(b, reply(change(UNROLL=4)))
    for key in (ROOT, a, b):
        engine.answer(key, reply())
    third, fourth = evaluate_next(engine), evaluate_next(engine)
    assert {third.parent, fourth.parent} == {a, b}
    engine.record(third.edge_id, measured(3.0, c, spent_build=True))
    changes = engine.record(fourth.edge_id, measured(3.0, d, spent_build=True, same_code_as=c))
    assert d not in engine.graph.nodes
    assert {n.key for n in engine.graph.parents(c)} == {a, b}
    edge = engine.graph.edges[fourth.edge_id]
    assert (edge.child, edge.variant, edge.builds, edge.duplicate) == (c, d, 1, False)
    assert engine.graph.of_variant(d) is engine.graph.nodes[c]
    assert engine.ledger.builds == 4
    assert c in {r["key"] for r in changes.nodes}


def test_machine_code_of_an_ancestor_closes_a_cycle() -> None:
    engine = asked(change(TILE=2))
    work = evaluate_next(engine)
    engine.record(work.edge_id, measured(1.0, "a", same_code_as=ROOT, spent_build=True))
    edge = engine.graph.edges[work.edge_id]
    assert (edge.child, edge.variant, edge.closes_cycle) == (ROOT, "a", True)
    assert set(engine.graph.nodes) == {ROOT}


def test_a_twin_that_is_not_of_this_search_stands_for_all_that_share_its_code() -> None:
    engine = asked(change(TILE=2), change(TILE=4), change(TILE=8))
    for key in ("a", "b", "elsewhere"):
        twin = None if key == "elsewhere" else "elsewhere"
        outcome = measured(2.0, key, same_code_as=twin)
        engine.record(evaluate_next(engine).edge_id, outcome)
    assert set(engine.graph.nodes) == {ROOT, "a"}
    assert {e.variant for e in engine.graph.edges.values()} == {None, "b", "elsewhere"}


def test_a_twin_becomes_incumbent_as_the_node_that_it_is() -> None:
    engine = asked(change(TILE=2), change(TILE=4))
    engine.record(evaluate_next(engine).edge_id, measured(2.0, "a"))
    found = measured(2.0, "b", same_code_as="a", became_incumbent=True)
    engine.record(evaluate_next(engine).edge_id, found)
    assert engine.incumbent.key == "a"


# Candidates put aside.


class Weighed:
    """An engine whose context says what methods weigh."""

    def __init__(self, weights: dict[str, float]) -> None:
        self.weights = weights
        settings = Settings(min_weight=0.2)
        self.engine = Engine(new_graph(), settings, client_planner, self.context)

    def context(self, node: Node) -> Context:
        return replace(context_of(node), weights=dict(self.weights), bottleneck="DRAM at 96 %")


def test_what_weighs_too_little_is_put_aside_with_what_is_saturated() -> None:
    weighed = Weighed({"unroll": 0.1})
    unroll = change(UNROLL=2).model_copy(update={"method": "unroll"})
    changes = weighed.engine.answer(ROOT, reply(unroll, change(TILE=2)))
    assert evaluate_next(weighed.engine).candidate.method == "set"
    assert changes.notes == (
        "unroll: its weight 0.1 is below min_weight 0.2; what limits the kernel: DRAM at 96 %",
    )


def test_what_was_put_aside_comes_back_when_it_weighs_more() -> None:
    weighed = Weighed({"unroll": 0.1})
    unroll = change(UNROLL=2).model_copy(update={"method": "unroll"})
    weighed.engine.answer(ROOT, reply(unroll))
    assert weighed.engine.look_again(ROOT).edges == ()
    weighed.engine.answer(ROOT, reply())
    assert isinstance(weighed.engine.next_work(), Stopped)
    weighed.weights["unroll"] = 0.5
    (record,) = weighed.engine.look_again(ROOT).edges
    assert (record["state"], record["message"]) == ("open", "")
    assert evaluate_next(weighed.engine).candidate == unroll


def test_a_node_that_expands_looks_first_at_what_was_put_aside() -> None:
    weighed = Weighed({"unroll": 0.1})
    unroll = change(UNROLL=2).model_copy(update={"method": "unroll"})
    weighed.engine.answer(ROOT, reply(unroll))
    assert ask_next(weighed.engine).node_id == ROOT
    weighed.weights.clear()
    assert evaluate_next(weighed.engine).candidate == unroll


# Failures and builds.


def test_a_question_about_a_failure_tells_why_it_failed() -> None:
    engine = asked(change(TILE=2), repair_visits=1)
    engine.answer(ROOT, reply())
    outcome = Outcome(Ending.wrong, "TILE=2", message="y[3] is 4, not 5")
    engine.record(evaluate_next(engine).edge_id, outcome)
    assert ask_next(engine).question.message == "y[3] is 4, not 5"
    assert question_from(engine.context(engine.graph.root)).message == ""


def sweep(**knobs: tuple[int, ...]) -> Candidate:
    return Candidate(method="tune", knobs=knobs)


def test_a_candidate_with_knobs_holds_the_builds_that_it_may_spend() -> None:
    engine = asked(sweep(TILE=(1, 2, 4)), change(TILE=2), change(TILE=4), budget_builds=7)
    engine.settings = engine.settings.model_copy(update={"sweep_builds": 5})
    given = [evaluate_next(engine) for _ in range(3)]
    assert sorted(work.builds for work in given) == [1, 1, 5]
    assert isinstance(engine.next_work(), Waiting)
    tuned = max(given, key=lambda work: work.builds)
    engine.record(tuned.edge_id, measured(2.0, "TILE=4", builds=3))
    assert engine.ledger.builds == 3
    assert not isinstance(engine.next_work(), Stopped | Waiting)


def test_a_sweep_gets_what_is_left_of_the_budget() -> None:
    engine = asked(sweep(TILE=(1, 2, 4)), budget_builds=4)
    engine.settings = engine.settings.model_copy(update={"sweep_builds": 12})
    assert evaluate_next(engine).builds == 4


@pytest.mark.parametrize(("budget", "builds"), [(1, 1), (7, 1), (24, 6), (60, 12), (500, 12)])
def test_a_sweep_may_spend_a_quarter_of_the_budget_and_at_most_a_dozen(
    budget: int, builds: int
) -> None:
    engine = asked(sweep(TILE=(1, 2, 4)), budget_builds=budget)
    assert evaluate_next(engine).builds == builds


def test_more_builds_than_were_held_are_refused() -> None:
    engine = asked(change(TILE=2))
    work = evaluate_next(engine)
    with pytest.raises(ValueError, match="cost 2 builds, 1 were held"):
        engine.record(work.edge_id, measured(2.0, "TILE=2", builds=2))
    engine.record(work.edge_id, measured(2.0, "TILE=2", builds=1))


def test_a_build_spent_is_one_build() -> None:
    assert measured(2.0, "a", spent_build=True).builds == 1
    assert measured(2.0, "a", builds=4).spent_build
    assert not measured(2.0, "a").spent_build


def test_noise_changes_where_a_search_begins() -> None:
    plain, _ = drive(engine_with(), World())
    noisy = [drive(engine_with(noise_fraction=1.0, seed=seed), World())[0] for seed in range(4)]
    assert any(run != plain for run in noisy)
