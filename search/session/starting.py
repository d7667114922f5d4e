"""A search that is held: begun with a graph of one node (baseline, or a variant that was timed), or
taken up from the store."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ...evaluation.bench import Bench
from ...runners.errors import SpecError
from ...store.records import KernelRecord, now
from ...store.searches import (
    count_commit,
    put_graph_rows,
    put_search,
    revision_of,
    search_record,
)
from ..drivers.settings import PlannerSettings
from ..graph.graph import Graph
from ..graph.records import node_record
from ..planning.planners import PlannerName
from ..settings import Settings
from ..stored.experience import learned_now
from ..stored.graph import graph_of
from ..stored.records import SearchRecord, with_budget, with_planning
from ..stored.search_lock import SearchLock


@dataclass(frozen=True)
class Held:
    """A search that nobody else has under way."""

    record: SearchRecord
    graph: Graph
    lock: SearchLock
    """on the search, taken"""
    revision: int = 0
    """of the search in the store when its graph was read (`revision_of`)"""


def begun(
    bench: Bench,
    kernel_id: str,
    settings: Settings,
    planner: PlannerName,
    start: str | None,
    planning: PlannerSettings | None,
) -> Held:
    """A new search, in the store. `start`: a variant; None: the baseline. Raises HandleUnknown,
    DeviceMissing, and SpecError where `start` was not measured."""
    kernel = bench.evaluator.timed_kernel(kernel_id)
    graph = graph_from(bench, kernel, start or kernel.baseline)
    record = SearchRecord(
        search_id=f"s{secrets.token_hex(4)}",
        kernel_id=kernel_id,
        planner=planner,
        settings=settings,
        planning=planning,
        started_at=now(),
        learned=learned_now(bench.store, settings.regraph),
    )
    lock = SearchLock(bench.outdir, record.search_id)
    lock.take()
    with bench.store.transaction() as writer:
        put_search(writer, record.search_id, record)
        put_graph_rows(writer, record.search_id, [node_record(graph, graph.root)])
    return Held(record, graph, lock)


def taken_up(
    bench: Bench,
    lock: SearchLock,
    search_id: str,
    budget_builds: int | None,
    planning: PlannerSettings | None,
) -> Held:
    """A search of the store, of which the lock is taken, with a new budget or new settings of its
    driver where they are given."""
    revision = revision_of(bench.store, search_id)
    known = search_record(bench.store, search_id, SearchRecord)
    record = known
    if budget_builds is not None and budget_builds != record.settings.budget_builds:
        record = with_budget(record, budget_builds)
    if planning is not None:
        record = with_planning(record, planning)
    if record != known:
        with bench.store.transaction() as writer:
            put_search(writer, search_id, record)
            revision = count_commit(writer, search_id)
    return Held(record, graph_of(bench.store, search_id), lock, revision)


def graph_from(bench: Bench, kernel: KernelRecord, start: str) -> Graph:
    """The graph of a search that starts from a variant of the kernel. Raises HandleUnknown, and
    SpecError for a variant of another kernel or one that was not measured."""
    graph = Graph()
    if start == kernel.baseline:
        graph.add_root(start)
        return graph
    if bench.evaluator.variant(start).variant.kernel_id != kernel.kernel_id:
        raise SpecError(
            f"variant `{start}` is not one of {kernel.kernel_id}",
            valid="incumbent, baseline, or a variant of this kernel",
        )
    known = bench.evaluator.evaluation(start)
    if known is None or not known.ending.measured:
        ended = "was not evaluated yet" if known is None else f"ended as `{known.ending}`"
        raise SpecError(
            f"a search cannot start from `{start}`, which {ended}",
            valid="incumbent, baseline, or a variant that was timed",
            next_step=f'call time_variant {{"variant_id": "{start}"}} first',
        )
    graph.add_root(start, known.ending, known.speedup, known.interval)
    return graph
