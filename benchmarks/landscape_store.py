"""A state folder with one large search over the landscape: searched in memory, written in bulk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import landscape
from replay.world import Found, Replayed, World, replay

from kernelwright.runners.model import Candidate, Variant
from kernelwright.search.engine.work import Changes, Evaluate
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.records import edge_record, node_record
from kernelwright.search.planning.planner import Context, PlannerRun
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchRecord
from kernelwright.store.records import KernelRecord, VariantRecord
from kernelwright.store.store import STATE_FILE, Store

OWN_WAY = 3000
"""the last builds, spent as the search's own policy says"""
SEARCH_ID = "slandscape"
WHEN = "2000-01-01T00:00:00+00:00"
Row = tuple[str, str, dict[str, Any]]


@dataclass
class Searched:
    """The search in memory, with the variant and the way to each of its nodes."""

    start: Variant
    points: dict[str, landscape.Point] = field(default_factory=dict[str, landscape.Point])
    ways: dict[str, tuple[str, Candidate]] = field(default_factory=dict[str, tuple[str, Candidate]])
    """by variant id: from where it was reached first, and by which candidate"""

    def planner(self, context: Context) -> PlannerRun:
        """Proposes the landscape's candidates."""
        yield from ()
        point = self.points[context.variant_id]
        return landscape.candidates(point, len(context.history), context.wanted)

    def look_up(self, work: Evaluate) -> Found:
        """The landscape's word on a candidate."""
        point = landscape.moved(self.points[work.parent], work.candidate)
        key = landscape.variant_at(point, self.start).variant_id
        self.points.setdefault(key, point)
        self.ways.setdefault(key, (work.parent, work.candidate))
        found = landscape.measured(point)
        return Found(found.ending, key, found.speedup, found.interval)


def search(builds: int, settings: Settings) -> tuple[Searched, Replayed]:
    """The engine over the landscape until so many builds are spent.

    Most of them on random walks, which are quick and make it wide; then by the search's own policy,
    which goes deep where it is good.
    """
    start = landscape.kernel().baseline()
    searched = Searched(start, {start.variant_id: landscape.START})
    world = World(start.variant_id, searched.planner, searched.look_up)
    first = max(builds - OWN_WAY, builds // 2)
    wide = settings.model_copy(update={"policy": "random", "budget_builds": first})
    before = replay(world, wide)
    deep = settings.model_copy(update={"budget_builds": builds})
    found = replay(world, deep, graph=before.graph)
    return searched, replace(found, steps=before.steps + found.steps)


def write(outdir: Path, nodes: int, more_builds: int) -> int:
    """Make `state.sqlite` with a search of so many nodes, which may spend `more_builds`; its edges.

    Rows of evaluations are brief, all others are what a search leaves.
    """
    settings = Settings(budget_builds=nodes + more_builds, patience=10 * (nodes + more_builds))
    searched, found = search(nodes - 1, settings)
    with Store.open(outdir / STATE_FILE) as store, store.transaction() as writer:
        writer.put_record("kernels", searched.start.kernel_id, _kernel(searched))
        writer.put_record("searches", SEARCH_ID, _record(searched, settings))
        numbers = dict[str, int]()
        for table, key, row in _rows(searched, found):
            writer.put(table, key, row)
            numbers[table] = numbers.get(table, 0) + 1
        for table in ("transitions", "memory", "ledger"):
            writer.put("meta", f"sequence:{table}", {"last": numbers[table]})
    return len(found.graph.edges)


def _kernel(searched: Searched) -> KernelRecord:
    return KernelRecord(
        kernel_id=searched.start.kernel_id,
        loaded=landscape.kernel(),
        odd_symbols=None,
        baseline=searched.start.variant_id,
        incumbent=searched.start.variant_id,
        baseline_ms={"main": landscape.BASELINE_MS},
        opened_at=WHEN,
    )


def _record(searched: Searched, settings: Settings) -> SearchRecord:
    return SearchRecord(
        search_id=SEARCH_ID,
        kernel_id=searched.start.kernel_id,
        planner="client",
        settings=settings,
        started_at=WHEN,
    )


def _rows(searched: Searched, found: Replayed) -> Iterator[Row]:
    for changes in (everything(found.graph),):
        yield from (("nodes", f"{SEARCH_ID}/{each['key']}", each) for each in changes.nodes)
        yield from (("edges", f"{SEARCH_ID}/{each['edge_id']}", each) for each in changes.edges)
    yield from _variants(searched)
    yield from _lessons(searched, found)


def everything(graph: Graph) -> Changes:
    """Records of a whole graph."""
    nodes = (node_record(graph, node) for node in graph.nodes.values())
    return Changes(tuple(nodes), tuple(map(edge_record, graph.edges.values())))


def _variants(searched: Searched) -> Iterator[Row]:
    for key, point in searched.points.items():
        variant = landscape.variant_at(point, searched.start)
        parent, candidate = searched.ways.get(key, (None, None))
        method = "baseline" if candidate is None else candidate.method
        record = VariantRecord(variant=variant, parent=parent, method=method)
        yield "variants", key, record.model_dump(mode="json")
        made = landscape.evaluation(variant, key, landscape.measured(point), False)
        yield "evaluations", made.evaluation_id, made.model_dump(mode="json")


def _lessons(searched: Searched, found: Replayed) -> Iterator[Row]:
    """What `tools.lessons.learn` keeps of every step."""
    kernel_id, counts = searched.start.kernel_id, dict.fromkeys(("memory", "ledger"), 0)
    builds = 0
    for number, step in enumerate(found.steps, 1):
        spent, builds = step.builds - builds, step.builds
        _, candidate = searched.ways.get(step.parent, (None, None))
        same: dict[str, Any] = {
            "kernel_id": kernel_id,
            "ending": step.found.ending.value,
            "speedup": step.found.speedup,
            "variant_id": step.found.key,
        }
        transition = same | {
            "time": WHEN,
            "arch": "sm_90a",
            "language": "cuda",
            "from_method": "baseline" if candidate is None else candidate.method,
            "to_method": step.method,
            "interval": step.found.interval,
            "log2_speedup": step.found.speedup and math.log2(step.found.speedup),
            "baseline_ms": {"main": landscape.BASELINE_MS},
            "search_id": SEARCH_ID,
            "edge_id": step.edge_id,
            "parent": step.parent,
        }
        yield "transitions", f"{number:012d}", transition
        if spent:
            for table in counts:
                counts[table] += 1
            memory = same | {"method": step.method, "detail": "", "changed": step.method}
            yield "memory", f"{counts['memory']:012d}", memory | {"lesson": ""}
            cost = {"search_id": SEARCH_ID, "builds": spent, "seconds": {"build": 0.9}}
            yield "ledger", f"{counts['ledger']:012d}", cost
