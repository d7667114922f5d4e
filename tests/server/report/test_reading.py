"""What a report reads from the store: made from records, without running anything."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from kernels import SOURCE, WRONG, tiny_kernel, with_known_peaks

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_file
from kernelwright.runners.model import (
    Candidate,
    Comparison,
    Ending,
    Evaluation,
    Ratio,
    Variant,
    WorkloadTimes,
)
from kernelwright.search.drivers.driver import Returned, Usage
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.records import edge_record, node_record
from kernelwright.search.session.exchanges import ExchangeRecord
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchRecord
from kernelwright.server.report.facts import Report, Speedup, headline
from kernelwright.server.report.reading import report_on
from kernelwright.store.evaluations import put_confirmation, put_evaluation
from kernelwright.store.exchanges import append_exchange
from kernelwright.store.kernels import put_kernel
from kernelwright.store.records import Confirmation, KernelRecord, VariantRecord
from kernelwright.store.searches import put_graph_rows, put_search
from kernelwright.store.variants import remember

QUICK = SOURCE.replace("++i", "i++")
SEARCH = "s0000001"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as opened:
        yield opened


@pytest.fixture
def loaded(bench: Workbench, tmp_path: Path) -> LoadedKernel:
    return load_file(tmp_path / "spec.json", Roots([tmp_path]))


def keep_kernel(bench: Workbench, loaded: LoadedKernel, incumbent: str = "") -> str:
    baseline = loaded.baseline()
    record = KernelRecord(
        kernel_id=loaded.kernel_id,
        loaded=loaded,
        odd_symbols=None,
        baseline=baseline.variant_id,
        incumbent=incumbent or baseline.variant_id,
        baseline_ms={"main": 2.0},
        opened_at="2026-01-01T00:00:00+00:00",
    )
    with bench.store.transaction() as writer:
        put_kernel(writer, record)
        remember(writer, VariantRecord(variant=baseline))
    return baseline.variant_id


def times(workload: str, **median_ms: float) -> WorkloadTimes:
    return WorkloadTimes(workload=workload, weight=1, median_ms=median_ms, blocks_ms={})


def compared(candidate: str, *ratios: Ratio, over: tuple[WorkloadTimes, ...] = ()) -> Comparison:
    return Comparison(
        candidate=candidate, ratios=ratios, workloads=over, resolution=0.01, samples=1, seconds=1
    )


def ratio(over: str, speedup: float) -> Ratio:
    low, high = speedup - 0.1, speedup + 0.1
    return Ratio(over=over, speedup=speedup, low=low, high=high, judgement="faster")


def keep(
    bench: Workbench, variant: Variant, parent: str, method: str, finished: str, **facts: object
) -> str:
    variant_id = variant.variant_id
    evaluation = Evaluation.model_validate(
        {
            "evaluation_id": f"{variant_id}/0001",
            "variant_id": variant_id,
            "kernel_id": variant.kernel_id,
            "tier": "native",
            "message": "",
            "finished_at": f"2026-01-01T00:00:{finished}+00:00",
            "seconds": {"build": 1.5, "compare": 0.5, "gpu": 0.25},
            **facts,
        }
    )
    record = VariantRecord(variant=variant, parent=parent, method=method, detail="as told")
    with bench.store.transaction() as writer:
        remember(writer, record)
        put_evaluation(writer, evaluation)
    return variant_id


def keep_call(bench: Workbench, number: int, second: str, usd: str) -> None:
    call = ExchangeRecord(
        time=f"2026-01-01T00:00:{second}+00:00",
        search_id=SEARCH,
        ticket="t1",
        model="a-model",
        returned=Returned(content=(), usage=Usage(input=100, output=10)),
        usd=Decimal(usd),
        sections={"source": 60, "tried": 40},
    )
    with bench.store.transaction() as writer:
        append_exchange(writer, SEARCH, "t1", number, call)


def searched(bench: Workbench, loaded: LoadedKernel) -> tuple[str, str]:
    """A search that found two steps and lost two candidates; the way to its best."""
    first = loaded.baseline().model_copy(update={"source": QUICK, "source_key": "quick"})
    best = first.model_copy(update={"parameters": {"UNROLL": 4}})
    base = keep_kernel(bench, loaded, best.variant_id)
    wrong = loaded.baseline().model_copy(update={"source": WRONG, "source_key": "wrong"})
    beside = compared(first.variant_id, ratio(base, 1.5))
    gained = {"speedup": 1.5, "interval": (1.4, 1.6), "comparison": beside}
    keep(bench, first, base, "rewrite", "10", ending="faster", **gained)
    main = times("main", **{base: 2.0, best.variant_id: 0.6})
    over = (ratio(base, 3.3), ratio(first.variant_id, 2.1))
    beside = compared(best.variant_id, *over, over=(main,))
    gained = {"speedup": 3.3, "interval": (3.2, 3.4), "comparison": beside}
    keep(bench, best, first.variant_id, "tune", "20", ending="faster", **gained)
    keep(bench, wrong, base, "rewrite", "15", ending="wrong")
    keep_graph(bench, loaded, base, first.variant_id, best.variant_id, wrong.variant_id)
    keep_call(bench, 1, "05", "0.01")
    keep_call(bench, 2, "12", "0.02")
    return first.variant_id, best.variant_id


def keep_graph(
    bench: Workbench, loaded: LoadedKernel, base: str, first: str, best: str, wrong: str
) -> None:
    graph = Graph()
    graph.add_root(base, Ending.tie, 1.0, None)
    quick = Candidate(method="rewrite", source=QUICK)
    steps = (
        (base, quick, first, Ending.faster, 1.5, 1),
        (base, Candidate(method="rewrite", source=WRONG), wrong, Ending.wrong, None, 1),
        (base, Candidate(method="patch", diff="no diff"), None, Ending.rejected, None, 0),
        (first, Candidate(method="tune", parameters={"UNROLL": 4}), best, Ending.faster, 3.3, 3),
    )
    for number, (parent, candidate, child, ending, speedup, builds) in enumerate(steps):
        edge = graph.add_edge(parent, candidate, 1.0)
        edge.state, edge.ending, edge.steps, edge.builds = "done", ending, (number,), builds
        if child is not None:
            graph.add_node(child, ending, speedup, None)
            graph.link_child(edge, child)
            edge.became_incumbent = speedup is not None
    search = SearchRecord(
        search_id=SEARCH,
        kernel_id=loaded.kernel_id,
        planner="anthropic",
        settings=Settings(budget_builds=9),
        started_at="2026-01-01T00:00:01+00:00",
        stopped="patience",
        stopped_text="nothing new",
    )
    with bench.store.transaction() as writer:
        put_search(writer, SEARCH, search)
        nodes = [node_record(graph, node) for node in graph.nodes.values()]
        put_graph_rows(writer, SEARCH, nodes, map(edge_record, graph.edges.values()))


def confirm(bench: Workbench, base: str, variant_id: str, *, accepted: bool) -> None:
    visible = compared(
        variant_id, ratio(base, 3.0), over=(times("main", **{base: 2.0, variant_id: 0.7}),)
    )
    unseen = compared(variant_id, over=(times("unseen", **{base: 1.0, variant_id: 0.5}),))
    found = Confirmation(
        variant_id=variant_id,
        right=True,
        gates=(),
        visible=visible,
        held_out=unseen,
        accepted=accepted,
        message="measured anew",
    )
    with bench.store.transaction() as writer:
        put_confirmation(writer, found)


def read(bench: Workbench, loaded: LoadedKernel) -> Report:
    return report_on(bench, loaded.kernel_id, bench.outdir / "kernels" / "bump")


def test_the_curve_counts_the_builds_and_dollars_until_each_incumbent(
    bench: Workbench, loaded: LoadedKernel
) -> None:
    first, best = searched(bench, loaded)
    report = read(bench, loaded)
    told = [(p.variant_id, p.builds, p.usd, p.speedup.value) for p in report.curve]
    assert told == [
        (loaded.baseline().variant_id, 0, Decimal(0), 1.0),
        (first, 1, Decimal("0.01"), 1.5),
        (best, 5, Decimal("0.03"), 3.3),
    ]
    assert report.builds == 5
    assert report.costs.by_section == {"source": 120, "tried": 80}


def test_a_step_of_the_way_has_its_own_gain_as_timed_beside_the_step_before(
    bench: Workbench, loaded: LoadedKernel
) -> None:
    first, best = searched(bench, loaded)
    start, end = read(bench, loaded).ladder
    assert (start.variant_id, end.variant_id) == (first, best)
    assert start.gain == start.speedup == Speedup(value=1.5, interval=(1.4, 1.6))
    assert end.gain == Speedup(value=2.1, interval=(2.0, 2.2))
    assert "+    for (int i = 0; i < n; i++)" in start.diff
    assert (end.diff, end.changed) == ("", "UNROLL=4")


def test_what_gave_no_variant_counts_among_the_endings(
    bench: Workbench, loaded: LoadedKernel
) -> None:
    searched(bench, loaded)
    assert read(bench, loaded).endings == {"faster": 2, "wrong": 1, "rejected": 1}


def test_the_confirmed_speedup_has_the_word_over_that_of_the_search(
    bench: Workbench, loaded: LoadedKernel
) -> None:
    _, best = searched(bench, loaded)
    assert "not confirmed yet" in headline(read(bench, loaded))
    confirm(bench, loaded.baseline().variant_id, best, accepted=True)
    report = read(bench, loaded)
    assert headline(report) == "3x (2.9 to 3.1) faster, confirmed on 1 shape and 1 held out."
    assert report.verdict.searched == 3.3
    assert [(t.workload, t.baseline_ms, t.best_ms) for t in report.times] == [
        ("main", 2.0, 0.7),
        ("unseen", 1.0, 0.5),
    ]
    (roof,) = report.roofs
    assert roof.after is not None
    assert (roof.before.roofline.time_s, roof.after.roofline.time_s) == (0.002, 0.0007)


def test_before_it_is_confirmed_the_best_has_the_times_of_the_search(
    bench: Workbench, loaded: LoadedKernel
) -> None:
    searched(bench, loaded)
    (roof,) = read(bench, loaded).roofs
    assert roof.after is not None and roof.after.roofline.time_s == pytest.approx(0.0006)


def test_a_winner_that_was_refused_is_no_gain(bench: Workbench, loaded: LoadedKernel) -> None:
    _, best = searched(bench, loaded)
    confirm(bench, loaded.baseline().variant_id, best, accepted=False)
    assert headline(read(bench, loaded)).startswith("No gain that stands")


def test_a_kernel_that_was_only_opened_has_a_report(bench: Workbench, loaded: LoadedKernel) -> None:
    keep_kernel(bench, loaded)
    report = read(bench, loaded)
    assert headline(report) == "No variant is known to be faster than the baseline."
    assert (report.ladder, report.builds, report.reproduce) == ((), 0, ())
