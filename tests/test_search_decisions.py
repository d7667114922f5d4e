"""What the engine decides, over a landscape and over random worlds: always the same, within its
budget, and to an end. `python tests/test_search_decisions.py` writes
tests/golden/search_graph.json anew; read the difference before you commit it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from search_landscape import ROOT, World, context_of, drive, engine_with, neighbours

from kernelwright.runners.model import Ending
from kernelwright.search.engine import Engine
from kernelwright.search.graph import Graph
from kernelwright.search.graph_records import graph_from_records, node_record
from kernelwright.search.work import Changes, Evaluate, Outcome, Stopped, ledger_of

GOLDEN = Path(__file__).parent / "golden" / "search_graph.json"


def picture(engine: Engine, done: list[Evaluate], stopped: Stopped) -> dict[str, Any]:
    """The whole search, rounded, in the order of discovery."""
    nodes = [
        {
            "key": n.key,
            "ending": n.ending.value,
            "reward": round(n.reward, 4),
            "value": round(n.value, 4),
            "visits": n.visits,
            "exhausted": n.exhausted,
            "available": n.available,
        }
        for n in engine.graph.nodes.values()
    ]
    edges = [
        {
            "edge": e.edge_id,
            "from": e.parent,
            "to": e.child,
            "prior": round(e.prior, 4),
            "state": e.state,
            "visits": e.visits,
            "duplicate": e.duplicate,
            "closes_cycle": e.closes_cycle,
        }
        for e in engine.graph.edges.values()
    ]
    return {
        "stopped": stopped.reason,
        "builds": engine.ledger.builds,
        "incumbent": engine.ledger.incumbent,
        "evaluated": [work.edge_id for work in done],
        "nodes": nodes,
        "edges": edges,
    }


def golden_run() -> dict[str, Any]:
    engine = engine_with(seed=7, budget_builds=30)
    return picture(engine, *drive(engine, World()))


def test_a_seeded_search_is_the_stored_one() -> None:
    assert golden_run() == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_search_finds_the_best_point_and_says_why_it_stops() -> None:
    engine = engine_with(budget_builds=60, patience=60)
    _, stopped = drive(engine, World())
    assert engine.incumbent.key == "ORDER=2 TILE=8 UNROLL=4"
    assert engine.graph.root.value == engine.incumbent.reward
    assert stopped.reason == "exhausted"
    assert len(engine.graph.nodes) == 3 * 5 * 4


def test_the_same_seed_gives_the_same_search_and_another_seed_another() -> None:
    runs = [drive(engine_with(seed=seed), World())[0] for seed in (1, 1, 2, 3, 4)]
    assert runs[0] == runs[1]
    assert any(run != runs[0] for run in runs[2:])


# Random worlds: any ending, lost processes, known variants, candidates that give no variant.

fates = st.lists(
    st.sampled_from(["measure", "lost", "lost after build", "fail", "no variant", "unstable"]),
    min_size=1,
    max_size=30,
)


class Fateful:
    """A world whose outcomes follow a drawn list, over and over; a variant keeps its verdict."""

    def __init__(self, drawn: list[str]) -> None:
        self.drawn = drawn
        self.world = World()
        self.calls = 0
        self.failed: dict[str, bool] = {}
        self.builds = 0

    def __call__(self, work: Evaluate) -> Outcome:
        fate = self.drawn[self.calls % len(self.drawn)]
        self.calls += 1
        outcome = self.outcome(work, fate)
        self.builds += outcome.spent_build
        return outcome

    def outcome(self, work: Evaluate, fate: str) -> Outcome:
        if fate.startswith("lost"):
            return Outcome(Ending.lost, spent_build=fate == "lost after build")
        if fate == "no variant":
            return Outcome(Ending.rejected, message="the diff does not apply")
        outcome = self.world(work)
        assert outcome.variant_id is not None
        if self.failed.setdefault(outcome.variant_id, fate == "fail"):
            known = outcome.duplicate_of_known
            return Outcome(
                Ending.wrong,
                outcome.variant_id,
                duplicate_of_known=known,
                spent_build=not known,
            )
        if fate == "unstable" and outcome.speedup and not outcome.duplicate_of_known:
            return replace(outcome, ending=Ending.unstable, became_incumbent=False)
        return outcome


def reachable_cycle(graph: Graph) -> bool:
    return any(node.key == key for key in graph.nodes for node in graph.ancestors(key))


@given(fates, st.integers(1, 40), st.integers(1, 30), st.integers(0, 2))
@settings(deadline=None)
def test_the_budget_holds_and_every_search_ends(
    drawn: list[str], budget: int, patience: int, repair_visits: int
) -> None:
    engine = engine_with(budget_builds=budget, patience=patience, repair_visits=repair_visits)
    world = Fateful(drawn)
    drive(engine, world)
    assert world.builds == engine.ledger.builds <= budget
    assert engine.ledger.since_incumbent <= patience
    assert engine.ledger == ledger_of(engine.graph)
    assert not reachable_cycle(engine.graph)


def stored(changes: Changes, nodes: dict[str, Any], edges: dict[str, Any]) -> None:
    """What a store does with Changes."""
    nodes.update({r["key"]: r for r in json.loads(json.dumps(changes.nodes))})
    edges.update({r["edge_id"]: r for r in json.loads(json.dumps(changes.edges))})


@given(fates, st.sets(st.integers(0, 60)), st.booleans())
@settings(deadline=None)
def test_a_search_that_was_interrupted_decides_as_one_that_was_not(
    drawn: list[str], cuts: set[int], commits_work: bool
) -> None:
    """Killed while an edge was running, with or without a commit of the work that was given."""
    whole, _ = drive(engine_with(), Fateful(drawn))
    engine = engine_with()
    nodes: dict[str, Any] = {ROOT: node_record(engine.graph, engine.graph.root)}
    edges: dict[str, Any] = {}
    world, done = Fateful(drawn), list[Evaluate]()
    while isinstance(work := engine.next_work(), Evaluate):
        if len(done) in cuts:
            cuts = cuts - {len(done)}
            if commits_work:
                stored(engine.changes(), nodes, edges)
            graph = graph_from_records(nodes.values(), edges.values())
            engine = Engine(graph, engine.settings, neighbours, context_of)
            continue
        done.append(work)
        stored(engine.record(work.edge_id, world(work)), nodes, edges)
    assert done == whole


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden_run(), indent=1) + "\n", encoding="utf-8")
