"""Searches replayed: over recorded graphs, over measured spaces, and decision by decision."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from replay.decisions import Log, decisions, log_of
from replay.graph_world import EDGE, graph_world, methods_to
from replay.recorded import (
    RecordedEdge,
    RecordedGraph,
    RecordedNode,
    graphs_from_bytes,
    graphs_to_bytes,
    recorded,
)
from replay.space_world import Configuration, space_world
from replay.world import Replayed, World, replay

from kernelwright.runners.model import Ending
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.records import edge_record, graph_from_records, node_record
from kernelwright.search.settings import PolicyName, Settings

NAMES = ("block", "unroll", "kind")
TIMES: dict[Configuration, float | None] = {
    (block, unroll, kind): None
    if block * unroll > 256
    else 10 / block**0.5 + abs(unroll - 4) + (kind == "b")
    for block, unroll, kind in product((16, 32, 64, 128), (1, 2, 4, 8), ("a", "b"))
    if (block, unroll) != (64, 2)
}


def node(key: str, speedup: float | None, ending: Ending | None = None) -> RecordedNode:
    if ending is None:
        ending = Ending.wrong if speedup is None else Ending.faster
    return RecordedNode(key=key, ending=ending, speedup=speedup)


def edge(parent: str, child: str | None, prior: float = 1.0, **more: Any) -> RecordedEdge:
    ending = None if child is None else Ending.faster
    facts: dict[str, Any] = {"method": f"to {child}", "ending": ending, **more}
    return RecordedEdge(parent=parent, child=child, prior=prior, **facts)


SMALL = RecordedGraph(
    kernel="k",
    language="cuda",
    arch="sm_90a",
    root="r",
    nodes=(
        node("r", 1.0, Ending.tie),
        node("a", 1.5),
        node("b", None),
        node("c", 2.0),
        node("u", 9.0, Ending.unstable),
    ),
    edges=(
        edge("r", "a", 1.0),
        edge("r", "b", 2.0, ending=Ending.wrong),
        edge("r", None, 5.0),
        edge("a", "c"),
        edge("b", "c", method="repair"),
        edge("c", "r", ending=Ending.tie),
        edge("a", None, 3.0, ending=Ending.lost),
        edge("a", None, 0.5, ending=Ending.rejected, method="nonsense"),
        edge("a", "u", 0.1, ending=Ending.unstable),
    ),
)


def of(graph: RecordedGraph, **changes: Any) -> Replayed:
    return replay(graph_world(graph), Settings(seed=1, **changes))


def test_a_file_of_graphs_is_read_as_it_was_written() -> None:
    content = graphs_to_bytes([SMALL, SMALL])
    assert content == graphs_to_bytes([SMALL, SMALL])
    assert graphs_from_bytes(content) == (SMALL, SMALL)


@pytest.mark.parametrize(
    "broken",
    [
        {"root": "x"},
        {"nodes": (*SMALL.nodes, node("a", 1.0))},
        {"edges": (edge("x", "a"),)},
        {"edges": (edge("r", "x"),)},
        {"edges": (edge("r", "a", ending=None),)},
    ],
)
def test_a_graph_whose_parts_disagree_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RecordedGraph.model_validate({**SMALL.model_dump(), **broken})


def test_the_best_of_a_graph_is_no_guess() -> None:
    assert SMALL.best.key == "c"


def test_a_replay_finds_what_the_graph_holds() -> None:
    found = of(SMALL)
    assert found.stopped.reason == "exhausted"
    assert {s.found.key for s in found.steps} == {"a", "b", "c", "r", "u", None}
    assert found.best_after(99) == 2.0
    assert found.builds_to(1.5) is not None
    assert found.builds_to(2.1) is None
    for step in found.steps:
        said = next((n for n in SMALL.nodes if n.key == step.found.key), None)
        if said is not None:
            assert (step.found.ending, step.found.speedup) == (said.ending, said.speedup)


def test_what_was_never_evaluated_is_never_proposed() -> None:
    found = of(SMALL, repair_visits=3)
    walked = {(e.candidate.parameters or {})[EDGE] for e in found.graph.edges.values()}
    assert walked <= {0, 1, 3, 4, 5, 7, 8}


def test_a_variant_that_two_paths_reach_is_paid_for_once() -> None:
    twice = SMALL.model_copy(
        update={"edges": (edge("r", "a"), edge("a", "c"), edge("r", "c", method="straight"))}
    )
    found = of(twice)
    assert [s.builds for s in found.steps] == [1, 2, 2]


def test_variants_of_one_machine_code_share_a_node() -> None:
    def with_code(each: RecordedNode) -> RecordedNode:
        return each.model_copy(update={"code": "same"}) if each.key in "ac" else each

    twins = {
        "nodes": tuple(map(with_code, SMALL.nodes)),
        "edges": (edge("r", "a"), edge("r", "c", 0.5), edge("c", "u")),
    }
    found = of(SMALL.model_copy(update=twins))
    assert [s.builds for s in found.steps] == [1, 2]
    assert set(found.graph.nodes) == {"r", "a"}
    assert {e.child for e in found.graph.edges.values()} == {"a"}
    assert decisions(log(found, Settings(seed=1))) is None


def test_what_the_record_says_of_priors_decides_what_comes_first() -> None:
    assert of(SMALL).steps[0].found.key == "b"
    prior = {"to a": 9.0}
    world = graph_world(SMALL, lambda e, _: prior.get(e.method, 1.0))
    assert replay(world, Settings(seed=1)).steps[0].found.key == "a"


def test_a_prior_is_given_the_method_that_led_to_the_node() -> None:
    seen = dict[str, str]()

    def prior(edge: RecordedEdge, previous: str) -> float:
        seen[edge.method] = previous
        return 1.0

    graph_world(SMALL, prior)
    assert seen["to a"] == "baseline"
    assert seen["repair"] == "to b"
    assert methods_to(SMALL)["c"] == "to c"


def test_a_search_that_was_recorded_can_be_searched_again() -> None:
    first = of(SMALL, budget_builds=2)
    again = recorded(first.graph, "k", "cuda", "sm_90a")
    assert {n.key for n in again.nodes} == set(first.graph.nodes)
    assert {s.found.key for s in of(again).steps} <= set(first.graph.nodes)


def worlds() -> st.SearchStrategy[World]:
    """Worlds of random graphs, cycles and failures included."""
    keys = [f"n{i}" for i in range(8)]
    nodes = st.tuples(*(st.none() | st.floats(0.5, 4) for _ in keys[1:]))
    ends = st.tuples(st.sampled_from(keys), st.sampled_from(keys), st.floats(0.1, 5))

    def world(speedups: tuple[float | None, ...], links: list[tuple[str, str, float]]) -> World:
        known = (node("n0", 1.0, Ending.tie), *map(node, keys[1:], speedups))
        endings = {n.key: n.ending for n in known}
        edges = tuple(edge(p, c, prior, ending=endings[c]) for p, c, prior in links)
        graph = SMALL.model_copy(update={"root": "n0", "nodes": known, "edges": edges})
        return graph_world(graph)

    return st.builds(world, nodes, st.lists(ends, max_size=30))


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(1, 9), st.integers(1, 4), st.integers(0, 3))
def test_a_replay_keeps_its_budget_and_can_be_made_again(
    world: World, budget: int, parallel: int, seed: int
) -> None:
    chosen = Settings(budget_builds=budget, seed=seed, repair_visits=1)
    found = replay(world, chosen, parallel)
    assert [s.builds for s in found.steps] == sorted(s.builds for s in found.steps)
    assert found.steps == replay(world, chosen, parallel).steps
    assert all(s.builds <= budget for s in found.steps)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(1, 3), st.integers(0, 3), st.sampled_from(get_args(PolicyName)))
def test_the_engine_decides_again_as_it_was_recorded(
    world: World, parallel: int, seed: int, policy: PolicyName
) -> None:
    chosen = Settings(
        seed=seed, policy=policy, repair_visits=1, restart_epsilon=0.2, rollout_steps=seed
    )
    assert decisions(log(replay(world, chosen, parallel), chosen), parallel=parallel) is None


def log(found: Replayed, chosen: Settings) -> Log:
    return log_of(chosen, *records(found.graph))


def records(graph: Graph) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    nodes = [node_record(graph, n) for n in graph.nodes.values()]
    return nodes, [edge_record(e) for e in graph.edges.values()]


def test_the_first_decision_that_differs_is_told() -> None:
    chosen = Settings(budget_builds=20, seed=3)
    found = replay(space_world(NAMES, TIMES), chosen)
    nodes, edges = records(found.graph)
    assert decisions(log_of(chosen, nodes, edges)) is None
    walked_through = next(e for e in edges if e["visits"] > 1)
    for each in nodes:
        if each["key"] == walked_through["child"]:
            each |= {"ending": "wrong", "speedup": None, "interval": None}
    for each in edges:
        if each["child"] == walked_through["child"]:
            each |= {"ending": "wrong", "became_incumbent": False}
    difference = decisions(log_of(chosen, nodes, edges))
    assert difference is not None
    assert difference.step > walked_through["steps"][0]
    assert difference.taken != difference.recorded
    assert str(difference).startswith(f"after {difference.step} steps: recorded is evaluate e")


def test_other_settings_decide_otherwise() -> None:
    chosen = Settings(budget_builds=30, seed=3)
    found = replay(space_world(NAMES, TIMES), chosen)
    other = log(found, chosen.model_copy(update={"widening_c": 1.0}))
    assert decisions(other) is not None
    stopped = decisions(log(found, chosen.model_copy(update={"budget_builds": 5})))
    assert stopped is not None
    spent = next(n for n, s in enumerate(found.steps, 1) if s.builds == 5)
    assert (stopped.step, stopped.taken.partition(":")[0]) == (spent, "stop by budget")


def test_what_an_unstable_variant_measured_at_first_is_read_from_transitions() -> None:
    chosen = Settings(budget_builds=4, seed=0)
    found = replay(graph_world(SMALL), chosen)
    nodes, edges = records(found.graph)
    told = [
        {"edge_id": s.edge_id, "speedup": s.found.speedup, "interval": None} for s in found.steps
    ]
    for each in nodes:
        each["speedup"] = each["speedup"] and 1.0
    assert decisions(log_of(chosen, nodes, edges, told)) is None
    assert [o.speedup for _, o in log_of(chosen, nodes, edges, told).outcomes] == [
        s.found.speedup for s in found.steps
    ]


def test_a_space_is_searched_by_what_was_measured() -> None:
    found = replay(space_world(NAMES, TIMES), Settings(budget_builds=200, patience=200))
    assert found.stopped.reason == "exhausted"
    baseline = next(t for t in TIMES.values() if t is not None)
    best = min(t for t in TIMES.values() if t is not None)
    assert found.best_after(200) == pytest.approx(baseline / best)
    assert len(found.graph.nodes) <= len(TIMES)
    assert len(found.steps) > len(TIMES)  # it is a graph: paths meet
    assert found.steps[-1].builds == len(found.graph.nodes) - 1


def test_a_configuration_that_failed_costs_a_build() -> None:
    found = replay(space_world(NAMES, TIMES), Settings(budget_builds=200, patience=200))
    failed = [s for s in found.steps if s.found.ending is Ending.build_failed]
    assert failed
    assert found.steps[-1].builds >= len({s.found.key for s in failed})


def test_a_space_starts_where_it_is_told_to() -> None:
    start = (128, 2, "b")
    world = space_world(NAMES, TIMES, start)
    assert world.root == "3,1,1"
    with pytest.raises(ValueError, match="did not fail"):
        space_world(NAMES, TIMES, (128, 8, "a"))
    with pytest.raises(ValueError, match="measured"):
        space_world(NAMES, TIMES, (64, 2, "a"))


def test_a_replay_that_was_stopped_goes_on_from_its_records() -> None:
    found = of(SMALL)
    nodes, edges = records(found.graph)
    graph = graph_from_records(nodes, edges)
    assert recorded(graph, "k", "cuda", "sm_90a") == recorded(found.graph, "k", "cuda", "sm_90a")
