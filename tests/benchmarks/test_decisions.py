"""What the engine decides over a landscape. `python tests/benchmarks/test_decisions.py` writes
tests/golden/search_graph.json anew; read the difference before you commit it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from search_landscape import World, drive, engine_with

from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Evaluate, Stopped

GOLDEN = Path(__file__).parents[1] / "golden" / "search_graph.json"


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


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden_run(), indent=1) + "\n", encoding="utf-8")
