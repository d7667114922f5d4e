"""When planner mixed has rules propose, and when it asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels import SOURCE, SPEC

from kernelwright.runners.model import BuildOptions, Candidate, Ending
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Ask, Evaluate, Outcome
from kernelwright.search.graph.graph import Graph
from kernelwright.search.moves.shared.base import State
from kernelwright.search.planning.mixed import mixed_planner
from kernelwright.search.planning.planner import (
    Context,
    Question,
    Reply,
    Statistics,
    run_planner,
)
from kernelwright.search.settings import Settings

STATE = State("cpp", SOURCE, {"UNROLL": 1}, BuildOptions(), KernelSpec.model_validate(SPEC))
CONTEXT = Context("s", "v0", STATE, wanted=2)
IDEA = Candidate(method="rewrite", detail="an idea", source=SOURCE.replace("++i", "i++"))
NOTHING = Reply(candidates=())


def planned(replies: tuple[Reply, ...] = (), **changes: Any) -> Question | tuple[Candidate, ...]:
    return run_planner(mixed_planner, replace(CONTEXT, **changes), replies)


def test_rules_propose_while_they_pay() -> None:
    proposed = planned()
    assert isinstance(proposed, tuple) and len(proposed) == 2


def test_whoever_answers_is_asked_when_rules_stop_paying() -> None:
    assert isinstance(planned(paying=False), Question)
    assert planned((Reply(candidates=(IDEA,)),), paying=False) == (IDEA,)


def test_an_answer_that_was_paid_for_counts_though_rules_pay_again_by_now() -> None:
    assert planned((Reply(candidates=(IDEA,)),), paying=True, answered=True) == (IDEA,)


def test_what_failed_is_mended_by_whoever_answers_and_never_by_rules() -> None:
    failed = Statistics(ending=Ending.wrong, speedup=None, message="worst at [1]")
    assert isinstance(planned(statistics=failed), Question)
    assert planned((NOTHING,), statistics=failed, answered=True) == ()


def test_after_an_empty_answer_rules_propose_all_that_they_have_left() -> None:
    left = planned((NOTHING,), paying=False, answered=True)
    assert isinstance(left, tuple) and len(left) > CONTEXT.wanted


def search() -> Engine:
    graph = Graph()
    graph.add_root("v0")
    settings = Settings(change_over=3, min_pred_gain=0, widening_c=1, patience=30)
    return Engine(
        graph, settings, mixed_planner, lambda node: replace(CONTEXT, variant_id=node.key)
    )


def to_the_question(engine: Engine, *, found: int) -> tuple[int, Ask]:
    """Evaluations until the engine asks. Each ties but the one of number `found`, from 1, which
    becomes the incumbent."""
    for done in range(30):
        work = engine.next_work()
        if isinstance(work, Ask):
            return done, work
        assert isinstance(work, Evaluate)
        better = done + 1 == found
        outcome = Outcome(
            Ending.faster if better else Ending.tie,
            f"{work.edge_id}-{done}",
            2.0 if better else 1.0,
            (1.9, 2.1) if better else (0.9, 1.1),
            became_incumbent=better,
            spent_build=True,
        )
        engine.record(work.edge_id, outcome)
    raise AssertionError("nobody was asked")


def test_a_search_asks_only_after_so_many_evaluations_without_a_new_incumbent() -> None:
    done, _ = to_the_question(search(), found=0)
    later, _ = to_the_question(search(), found=3)
    assert done >= 3 and later >= 6


def test_a_state_about_which_nobody_has_an_idea_is_not_asked_about_again() -> None:
    engine = search()
    _, asked = to_the_question(engine, found=0)
    engine.answer(asked.node_id, NOTHING)
    assert engine.graph.node(asked.node_id).exhausted
    assert engine.waiting  # what rules had left
