"""What the engine tells of its decisions, and that telling changes none."""

from __future__ import annotations

import pytest
from search_landscape import (
    ROOT,
    World,
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

from kernelwright.search.engine.decisions import BackedUp, Decision, Expanded, Pruned, Selected
from kernelwright.search.engine.engine import Engine


def watched(engine: Engine) -> list[Decision]:
    log = engine.log = list[Decision]()
    return log


@pytest.mark.parametrize("policy", ["puct", "pucb", "greedy", "beam", "random"])
def test_watching_changes_no_decision(policy: str) -> None:
    plain, _ = drive(engine_with(budget_builds=25, seed=2, policy=policy), World())
    engine = engine_with(budget_builds=25, seed=2, policy=policy)
    watched(engine)
    seen, _ = drive(engine, World())
    assert [work.edge_id for work in seen] == [work.edge_id for work in plain]


@pytest.mark.parametrize("policy", ["puct", "pucb"])
def test_a_policy_with_a_formula_takes_the_arm_with_the_highest_score_that_is_told(
    policy: str,
) -> None:
    engine = engine_with(budget_builds=25, seed=2, policy=policy)
    log = watched(engine)
    drive(engine, World())
    choices = [each for each in log if isinstance(each, Selected)]
    assert len(choices) > 25
    for each in choices:
        scores = {arm.edge: arm.score for arm in each.arms}
        assert scores[each.chosen] == max(score or 0.0 for score in scores.values())
        assert each.arms_in_all >= len(each.arms)


def test_an_expansion_tells_what_came_of_it_and_why_a_candidate_was_put_aside() -> None:
    engine = engine_with()
    log = watched(engine)
    evaluate_next(engine)
    found = [each for each in log if isinstance(each, Expanded)]
    assert found and found[0].node == ROOT and found[0].proposed
    engine = asked(change(TILE=4))
    log = watched(engine)
    engine.answer(ROOT, reply(change(0.001, UNROLL=2)))
    told, aside = log
    assert isinstance(told, Expanded) and isinstance(aside, Pruned)
    assert aside.edge == told.proposed[0].edge and "below min_pred_gain" in aside.why


def test_an_outcome_tells_whose_value_it_changed() -> None:
    engine = asked(change(TILE=4))
    log = watched(engine)
    work = evaluate_next(engine)
    engine.record(work.edge_id, measured(4.0, key_of({**point_of(ROOT), "TILE": 4})))
    last = log[-1]
    assert isinstance(last, BackedUp)
    assert (last.step, last.edge, last.path, last.reward) == (1, work.edge_id, (ROOT,), 2.0)
    root = next(value for value in last.values if value.node == ROOT)
    assert (root.before, root.after, root.visits) == (0.0, 2.0, 2)
