"""Laws of the engine, whatever the policy: it ends, within its budget, on no cycle, and decides the
same again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from search_fates import Fateful, drive_together, fates, ways, with_knobs
from search_landscape import ROOT, World, context_of, drive, engine_with, neighbours

from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.walking import walk
from kernelwright.search.engine.work import Changes, Evaluate, ledger_of, newest
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.records import graph_from_records, node_record

Ways = dict[str, Any]
turns = st.lists(st.integers(0, 7), min_size=1, max_size=10)


def reachable_cycle(graph: Graph) -> bool:
    return any(node.key == key for key in graph.nodes for node in graph.ancestors(key))


@given(ways, fates, st.integers(1, 40), st.integers(1, 30))
@settings(deadline=None)
def test_the_budget_holds_and_every_search_ends(
    way: Ways, drawn: list[str], budget: int, patience: int
) -> None:
    engine = engine_with(with_knobs, budget_builds=budget, patience=patience, **way)
    world = Fateful(drawn)
    drive(engine, world)
    assert world.builds == engine.ledger.builds <= budget
    assert engine.ledger.since_incumbent <= patience
    assert engine.ledger == ledger_of(engine.graph)
    assert not reachable_cycle(engine.graph)


@given(ways, fates, st.integers(1, 60), st.integers(2, 8), turns)
@settings(deadline=None, max_examples=50)
def test_the_budget_holds_with_evaluations_in_parallel(
    way: Ways, drawn: list[str], budget: int, lanes: int, order: list[int]
) -> None:
    engine = engine_with(with_knobs, budget_builds=budget, sweep_builds=5, **way)
    world = Fateful(drawn)
    drive_together(engine, world, lanes, order)
    assert world.builds == engine.ledger.builds <= budget
    assert engine.ledger == ledger_of(engine.graph)
    assert all(
        it.running == 0 for it in (*engine.graph.nodes.values(), *engine.graph.edges.values())
    )


@given(ways, fates, st.integers(2, 8), turns)
@settings(deadline=None, max_examples=40)
def test_the_same_outcomes_in_the_same_order_bring_the_same_decisions(
    way: Ways, drawn: list[str], lanes: int, order: list[int]
) -> None:
    runs = [
        drive_together(engine_with(with_knobs, **way), Fateful(drawn), lanes, order)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


@given(ways, fates)
@settings(deadline=None, max_examples=30)
def test_no_walk_meets_itself(way: Ways, drawn: list[str]) -> None:
    engine, world = engine_with(budget_builds=60, **way), Fateful(drawn)
    while isinstance(work := engine.next_work(), Evaluate):
        engine.record(work.edge_id, world(work))
        graph = engine.graph
        if graph.root.available:
            steps = engine.ledger.steps
            found = walk(graph, engine.settings, steps, newest(graph), ())
            met = [found.start.node.key, *(e.child for e in found.path)]
            assert len(set(met)) == len(met)
            assert found.path or found.expands


@given(ways)
@settings(deadline=None, max_examples=12)
def test_every_policy_exhausts_a_finite_graph(way: Ways) -> None:
    engine = engine_with(budget_builds=1000, patience=1000, **way)
    _, stopped = drive(engine, World())
    assert stopped.reason == "exhausted"
    assert engine.incumbent.key == "ORDER=2 TILE=8 UNROLL=4"


def stored(changes: Changes, nodes: dict[str, Any], edges: dict[str, Any]) -> None:
    """What a store does with Changes."""
    nodes.update({r["key"]: r for r in json.loads(json.dumps(changes.nodes))})
    edges.update({r["edge_id"]: r for r in json.loads(json.dumps(changes.edges))})


@given(ways, fates, st.sets(st.integers(0, 60)), st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_search_that_was_interrupted_decides_as_one_that_was_not(
    way: Ways, drawn: list[str], cuts: set[int], commits_work: bool
) -> None:
    """Killed while an edge was running, with or without a commit of the work that was given."""
    whole, _ = drive(engine_with(**way), Fateful(drawn))
    engine = engine_with(**way)
    nodes: dict[str, Any] = {ROOT: node_record(engine.graph, engine.graph.root)}
    edges: dict[str, Any] = {}
    world, done = Fateful(drawn), list[Evaluate]()
    while isinstance(work := engine.next_work(), Evaluate):
        if len(done) in cuts:
            cuts = cuts - {len(done)}
            if commits_work:
                stored(engine.changes(), nodes, edges)
            graph = graph_from_records(reversed(nodes.values()), edges.values())
            engine = Engine(graph, engine.settings, neighbours, context_of)
            continue
        done.append(work)
        stored(engine.record(work.edge_id, world(work)), nodes, edges)
    assert done == whole


@given(ways, fates)
@settings(deadline=None, max_examples=30)
def test_what_follows_from_facts_is_the_same_after_a_restart(way: Ways, drawn: list[str]) -> None:
    """Values, levels, discovery and twins, which no record holds."""
    engine = engine_with(**way)
    nodes: dict[str, Any] = {ROOT: node_record(engine.graph, engine.graph.root)}
    edges: dict[str, Any] = {}
    world = Fateful(drawn)
    while isinstance(work := engine.next_work(), Evaluate):
        stored(engine.record(work.edge_id, world(work)), nodes, edges)
    stored(engine.changes(), nodes, edges)
    graph = graph_from_records(reversed(nodes.values()), edges.values())
    again = Engine(graph, engine.settings, neighbours, context_of)
    assert again.graph.nodes == engine.graph.nodes
    assert again.graph.edges == engine.graph.edges
    assert (again.graph.found, again.graph.layers) == (engine.graph.found, engine.graph.layers)
    for key in graph.nodes:
        assert graph.level(key) == engine.graph.level(key)
        assert graph.links_to(key) == engine.graph.links_to(key)
    for edge in graph.edges.values():
        if edge.variant is not None:
            assert edge.child is not None
            twin = graph.of_variant(edge.variant)
            assert twin == engine.graph.of_variant(edge.variant) == graph.nodes[edge.child]
    assert graph.endings == engine.graph.endings
