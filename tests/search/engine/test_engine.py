"""Single behaviours of the engine, over a small deterministic landscape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from search_landscape import (
    ROOT,
    SPEC,
    World,
    ask_next,
    asked,
    change,
    drive,
    engine_with,
    evaluate_next,
    key_of,
    measured,
    point_of,
    reply,
)

from kernelwright.runners.errors import HandleUnknown
from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.work import Changes, Evaluate, Outcome, Stopped, Waiting, ledger_of
from kernelwright.search.planning.planner import Context, PlannerRun, client_planner, question_from


def test_guesses_change_no_decision_and_are_mostly_right() -> None:
    wanted, _ = drive(engine_with(budget_builds=30, seed=3), World())
    engine, world = engine_with(budget_builds=30, seed=3), World()
    guessed, found, hits = set[str](), list[str](), 0
    while isinstance(work := engine.next_work(), Evaluate):
        hits += named(work.parent, work.candidate) in guessed
        found.append(work.edge_id)
        for parent, candidate in engine.likely_next(8):
            guessed.add(named(parent, candidate))
        assert engine.likely_next(0) == []
        engine.record(work.edge_id, world(work))
    assert found == [work.edge_id for work in wanted]
    assert hits > len(found) / 2


def named(parent: str, candidate: Candidate) -> str:
    return f"{parent}: {candidate.parameters}"


def test_nobody_is_asked_for_a_guess() -> None:
    engine = asked(change(TILE=2), change(TILE=4, prior=3.0))
    assert [c.parameters for _, c in engine.likely_next(8)] == [{"TILE": 4}, {"TILE": 2}]
    assert evaluate_next(engine).candidate.parameters == {"TILE": 4}
    assert [c.parameters for _, c in engine.likely_next(8)] == [{"TILE": 2}]


def test_a_client_is_asked_once_and_its_candidates_are_evaluated_next() -> None:
    engine = engine_with(client_planner)
    first = ask_next(engine)
    assert ask_next(engine) == first
    changes = engine.answer(first.node_id, reply(change(TILE=4)))
    assert [r["candidate"]["parameters"] for r in changes.edges] == [{"TILE": 4}]
    work = evaluate_next(engine)
    assert (work.parent, work.candidate) == (ROOT, change(TILE=4))


def test_a_question_says_where_it_starts_and_what_was_tried() -> None:
    engine = asked(change(TILE=4), change(TILE=8), change(0.001, UNROLL=2))
    evaluated = [engine.next_work(), engine.next_work()]
    assert all(isinstance(work, Evaluate) for work in evaluated)
    engine.record("e000000", measured(1.7, key_of({**point_of(ROOT), "TILE": 4})))
    engine.record("e000001", Outcome(Ending.rejected, message="no such tile"))
    question = question_from(engine.context(engine.graph.root))
    assert (question.search_id, question.variant_id, question.speedup) == ("s1", ROOT, 1.0)
    assert (question.parameters, question.headroom) == (point_of(ROOT), "memory bound")
    assert [(t.method, t.detail, t.ending, t.speedup) for t in question.tried] == [
        ("set", "by hand", Ending.slower, 1.7),
        ("set", "by hand", Ending.rejected, None),
        ("set", "by hand", None, None),
    ]
    assert question.tried[1].message == "no such tile"
    assert "below min_pred_gain" in question.tried[2].message
    assert question.wanted == 7 - 2  # 3 visits: ceil(4 * sqrt(3)) = 7, two are there


def test_planners_never_see_held_out_workloads() -> None:
    seen: list[Context] = []

    def curious(context: Context) -> PlannerRun:
        seen.append(context)
        return (yield from client_planner(context))

    ask_next(engine_with(curious))
    assert [w.name for w in SPEC.workloads] == ["seen", "secret"]
    assert [w.name for w in seen[0].spec.workloads] == ["seen"]
    assert [w.name for w in seen[0].state.spec.workloads] == ["seen"]


def test_the_same_answer_twice_changes_nothing() -> None:
    engine = asked(change(TILE=4), change(0.0, TILE=8))
    before = list(engine.graph.edges)
    again = engine.answer(ROOT, reply(change(TILE=4, prior=3.0), change(0.0, TILE=8)))
    assert list(engine.graph.edges) == before
    assert again.edges == ()
    assert [note.split(":")[1] for note in again.notes] == [
        " was proposed here before, dropped"
    ] * 2
    assert not engine.graph.root.exhausted


def test_the_same_change_twice_in_one_answer_is_one_edge() -> None:
    engine = asked(change(TILE=4), Candidate(method="another name", parameters={"TILE": 4}))
    assert len(engine.graph.edges) == 1


def test_an_empty_answer_exhausts_the_node_until_something_comes_after_all() -> None:
    engine = asked()
    stopped = engine.next_work()
    assert isinstance(stopped, Stopped)
    assert stopped.reason == "exhausted"
    engine.answer(ROOT, reply(change(TILE=4)))
    evaluate_next(engine)


def test_an_answer_about_an_unknown_node_says_what_to_do() -> None:
    with pytest.raises(HandleUnknown, match="ask the search for its next question"):
        asked().answer("v404", reply(change(TILE=4)))


def test_a_planner_that_asks_twice_is_refused() -> None:
    def insistent(context: Context) -> PlannerRun:
        yield question_from(context)
        return (yield question_from(context)).candidates

    engine = engine_with(insistent)
    with pytest.raises(ValueError, match="one question at a time"):
        engine.answer(ask_next(engine).node_id, reply(change(TILE=4)))


def test_candidates_that_predict_too_little_are_pruned_with_the_reason() -> None:
    engine = engine_with(client_planner)
    changes = engine.answer(ROOT, reply(change(0.019, TILE=4), change(0.02, TILE=8), change(O=1)))
    states = [(r["state"], r["ending"]) for r in changes.edges]
    assert states == [("done", None), ("open", None), ("open", None)]
    assert changes.edges[0]["message"] == "predicted gain 1.9% is below min_pred_gain 2.0%"
    assert changes.notes == ("set: predicted gain 1.9% is below min_pred_gain 2.0%",)
    assert {evaluate_next(engine).edge_id for _ in range(2)} == {"e000001", "e000002"}


def test_a_pruned_candidate_may_come_back_promising_more() -> None:
    engine = asked(change(0.0, TILE=4))
    engine.answer(ROOT, reply(change(0.5, TILE=4)))
    assert evaluate_next(engine).edge_id == "e000001"


def test_priors_are_relative_to_the_average_of_one_question() -> None:
    engine = asked(change(TILE=2, prior=1.0), change(TILE=4, prior=3.0))
    engine.answer(ROOT, reply(change(TILE=8, prior=40.0)))
    assert [e.prior for e in engine.graph.edges.values()] == [0.5, 1.5, 1.0]


def test_two_paths_to_one_variant_meet_and_the_second_costs_no_build() -> None:
    engine = asked(change(TILE=2), change(UNROLL=2))
    tile, unroll, both = (
        key_of({**point_of(ROOT), **c})
        for c in ({"TILE": 2}, {"UNROLL": 2}, {"TILE": 2, "UNROLL": 2})
    )
    by_change = {
        json.dumps(w.candidate.parameters): w
        for w in (evaluate_next(engine), evaluate_next(engine))
    }
    engine.record(by_change['{"TILE": 2}'].edge_id, measured(1.2, tile, spent_build=True))
    engine.record(by_change['{"UNROLL": 2}'].edge_id, measured(1.1, unroll, spent_build=True))
    engine.answer(tile, reply(change(UNROLL=2)))
    engine.answer(unroll, reply(change(TILE=2)))
    first = evaluate_next(engine)
    engine.record(first.edge_id, measured(4.0, both, spent_build=True))
    engine.answer(both, reply())
    engine.answer(tile, reply())
    engine.answer(ROOT, reply())
    second = evaluate_next(engine)
    changes = engine.record(second.edge_id, measured(4.0, both, duplicate_of_known=True))
    assert {n.key for n in engine.graph.parents(both)} == {tile, unroll}
    assert [engine.graph.nodes[k].value for k in (ROOT, tile, unroll, both)] == [2.0] * 4
    assert (engine.ledger.builds, engine.graph.nodes[both].visits) == (3, 2)
    assert {r["key"] for r in changes.nodes} == {both}


def test_changes_name_the_new_node_and_the_edge_that_remembers_the_walk() -> None:
    engine = asked(change(TILE=2))
    near, far = "TILE=2", "TILE=2 UNROLL=2"
    engine.record(evaluate_next(engine).edge_id, measured(1.5, near))
    engine.answer(near, reply(change(UNROLL=2)))
    work = evaluate_next(engine)
    changes = engine.record(work.edge_id, measured(1.6, far))
    assert {r["key"]: r["visits"] for r in changes.nodes} == {far: 1}
    assert {r["edge_id"]: r["walks"] for r in changes.edges} == {"e000001": ["0"]}
    graph = engine.graph
    assert {key: n.visits for key, n in graph.nodes.items()} == {ROOT: 3, near: 2, far: 1}
    assert {key: e.visits for key, e in graph.edges.items()} == {"e000000": 2, "e000001": 1}
    assert engine.changes() == Changes((), ())


def test_a_lost_evaluation_reopens_its_edge_and_lets_the_others_go_first() -> None:
    engine = asked(change(TILE=2), change(TILE=4))
    first = evaluate_next(engine)
    engine.record(first.edge_id, Outcome(Ending.lost, spent_build=True, message="runner died"))
    edge = engine.graph.edges[first.edge_id]
    assert (edge.state, edge.visits, edge.builds, edge.message) == ("open", 1, 1, "runner died")
    second = evaluate_next(engine)
    assert second.edge_id != first.edge_id
    assert evaluate_next(engine).edge_id == first.edge_id
    engine.record(first.edge_id, measured(1.2, "TILE=2"))
    assert (edge.state, edge.ending, edge.steps) == ("done", Ending.slower, (0, 1))


def test_a_failure_is_kept_as_a_closed_leaf() -> None:
    engine = asked(change(TILE=2))
    engine.record(
        evaluate_next(engine).edge_id, Outcome(Ending.wrong, "TILE=2", message="off by 3")
    )
    node = engine.graph.nodes["TILE=2"]
    assert (node.reward, node.available) == (engine.settings.failure_reward, False)
    assert engine.graph.root.value == 0.0
    assert ask_next(engine).node_id == ROOT


def test_with_repair_visits_the_planner_is_asked_about_the_failure() -> None:
    engine = asked(change(TILE=2), repair_visits=1)
    engine.answer(ROOT, reply())
    engine.record(evaluate_next(engine).edge_id, Outcome(Ending.wrong, "TILE=2"))
    question = ask_next(engine).question
    assert (question.variant_id, question.ending, question.speedup) == (
        "TILE=2",
        Ending.wrong,
        None,
    )


def test_a_final_verdict_replaces_an_unstable_one() -> None:
    engine = asked(change(TILE=2), change(TILE=3))
    first, second = evaluate_next(engine), evaluate_next(engine)
    noisy = Outcome(Ending.unstable, "TILE=2", speedup=4.0, interval=(1.0, 9.0))
    engine.record(first.edge_id, noisy)
    assert engine.graph.root.value == 0.0
    engine.record(second.edge_id, measured(2.0, "TILE=2"))
    assert engine.graph.nodes["TILE=2"].ending is Ending.slower
    assert engine.graph.root.value == 1.0


def test_running_edges_are_given_once_and_hold_their_share_of_the_budget() -> None:
    engine = asked(change(TILE=2), change(TILE=4), change(TILE=8), budget_builds=2)
    running = {evaluate_next(engine).edge_id, evaluate_next(engine).edge_id}
    waiting = engine.next_work()
    assert isinstance(waiting, Waiting)
    assert set(waiting.running) == running
    engine.record(min(running), measured(1.1, "TILE=2"))  # known elsewhere: spent no build
    evaluate_next(engine)


def test_an_exhausted_search_waits_for_what_is_running() -> None:
    engine = asked(change(TILE=2))
    engine.answer(ROOT, reply())
    work = evaluate_next(engine)
    assert engine.next_work() == Waiting((work.edge_id,))
    engine.record(work.edge_id, Outcome(Ending.build_failed, "TILE=2", spent_build=True))
    assert isinstance(engine.next_work(), Stopped)


def test_patience_ends_with_evaluations_that_bring_no_incumbent() -> None:
    engine = engine_with(patience=3)
    outcomes = [1.5, 0.5, 0.5, 2.0, 0.5, 0.5, 0.5]
    done, stopped = drive(
        engine,
        lambda work: measured(
            outcomes[engine.ledger.steps],
            key_of({**point_of(work.parent), **(work.candidate.parameters or {})}),
            became_incumbent=outcomes[engine.ledger.steps] > 1,
        ),
    )
    assert (len(done), stopped.reason) == (7, "patience")
    assert engine.incumbent.speedup == 2.0


def test_known_variants_do_not_wear_out_patience() -> None:
    engine = asked(*(change(TILE=t) for t in range(8)), patience=2)
    for _ in range(5):
        outcome = measured(1.0, ROOT, duplicate_of_known=True)
        engine.record(evaluate_next(engine).edge_id, outcome)
    evaluate_next(engine)


def test_known_machine_code_does_not_wear_out_patience_unless_builds_were_spent_on_it() -> None:
    engine = asked(*(change(TILE=t) for t in range(1, 9)), patience=2)
    for number in range(5):
        shared = measured(1.0, f"TILE={number + 20}", same_code_as=ROOT)
        engine.record(evaluate_next(engine).edge_id, shared)
    assert (engine.ledger.since_incumbent, engine.ledger.known_in_a_row) == (0, 5)
    swept = measured(1.0, "TILE=30", same_code_as=ROOT, spent_build=True)
    engine.record(evaluate_next(engine).edge_id, swept)
    assert (engine.ledger.since_incumbent, engine.ledger.known_in_a_row) == (1, 0)
    assert engine.ledger == ledger_of(engine.graph)


def test_a_planner_that_only_has_spellings_of_known_code_comes_to_an_end() -> None:
    engine = asked(*(change(TILE=t) for t in range(1, 30)), patience=2, widening_c=30)
    _, stopped = drive(
        engine,
        lambda work: measured(1.0, f"TILE={engine.ledger.steps + 40}", same_code_as=ROOT),
    )
    assert (stopped.reason, engine.ledger.steps) == ("patience", 8)
    assert stopped.text == "8 candidates in a row gave what was known already"


def test_the_search_stops_when_the_floor_leaves_less_than_a_gain() -> None:
    engine = engine_with(ceiling=1.305)
    _, stopped = drive(engine, World())
    assert stopped.reason == "headroom"
    assert "the incumbent is 1.3x the baseline and the physics floor allows 1.3x" in stopped.text


def test_a_floor_that_is_not_trusted_stops_nothing() -> None:
    engine = engine_with(ceiling=1.305, stop_at_headroom=False)
    _, stopped = drive(engine, World())
    assert stopped.reason != "headroom"


def test_an_outcome_is_recorded_once_and_only_for_running_edges() -> None:
    engine = asked(change(TILE=2))
    with pytest.raises(HandleUnknown, match="it is open"):
        engine.record("e000000", measured(1.1, "TILE=2"))
    work = evaluate_next(engine)
    engine.record(work.edge_id, measured(1.1, "TILE=2"))
    with pytest.raises(HandleUnknown, match="it ended as `slower`"):
        engine.record(work.edge_id, measured(9.0, "TILE=2"))
    assert engine.graph.nodes["TILE=2"].speedup == 1.1


@pytest.mark.parametrize(
    "facts",
    [
        {"ending": Ending.faster, "variant_id": "v"},
        {"ending": Ending.wrong, "variant_id": "v", "speedup": 2.0},
        {"ending": Ending.faster, "speedup": 2.0},
        {"ending": Ending.faster, "variant_id": "v", "speedup": 0.0},
        {"ending": Ending.faster, "variant_id": "v", "speedup": float("nan")},
        {
            "ending": Ending.wrong,
            "variant_id": "v",
            "duplicate_of_known": True,
            "spent_build": True,
        },
    ],
)
def test_an_outcome_whose_parts_disagree_cannot_be_made(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Outcome(**facts)
