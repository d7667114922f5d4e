"""The benchmark without a model and the collector of closed graphs: what they measure and tell."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lift import write_spec
from pretend_gpu import pretended_gpu
from replay.graph_world import graph_world
from replay.recorded import (
    RecordedEdge,
    RecordedGraph,
    RecordedNode,
    graphs_from_bytes,
)
from replay.world import replay
from tiers import further

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.graph.graph import Graph
from kernelwright.search.session.workbench import Workbench

pytestmark = pytest.mark.usefixtures("brief_timing")  # no test asks how sure times are
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Script = Callable[[str], Any]
PLACE: dict[str, Any] = {
    "gpu": "G",
    "driver": "1",
    "cuda": "13.0, V13.0.88",
    "date": "d",
    "packages": {},
}
SOFTMAX: dict[str, Any] = {
    "kernel": "softmax_cuda",
    "language": "cuda",
    "bound": {"main": "memory"},
    "baseline_ms": {"main": 4.0},
    "best_ms": {"main": 0.125},
    "baseline_of_copy_bandwidth": {"main": 0.03},
    "best_of_copy_bandwidth": {"main": 0.96},
    "library_ms": {"main": 0.15},
    "speedup": 32.0,
    "low": 31.5,
    "high": 32.5,
    "builds": 41,
    "seconds": 40.2,
    "moves": [
        {"method": "coalesce_global_accesses", "detail": "a row a warp", "speedup": 20.0},
        {"method": "vectorize_global_loads", "detail": "4 elements", "speedup": 32.0},
    ],
}
GEMM: dict[str, Any] = {
    **SOFTMAX,
    "kernel": "gemm_triton",
    "bound": {"main": "compute"},
    "baseline_ms": {"main": 1.0},
    "best_ms": {"main": 0.5},
    "library_ms": {"main": 0.2},
    "speedup": 2.0,
}
FAILED: dict[str, Any] = {"kernel": "scan_cuda", "language": "cuda", "error": "no GPU"}


def result(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "environment": PLACE,
        "budget_builds": 60,
        "budget_seconds": 35.0,
        "settings": {"policy": "puct"},
        "gpus": 1,
        "not_begun": [],
        "kernels": list(rows),
        **changes,
    }


def test_memory_bound_kernels_are_held_against_a_copy_and_others_against_the_library(
    script: Script,
) -> None:
    share = script("no_model_tables").share
    assert share(SOFTMAX, "best") == 0.96
    assert share(GEMM, "baseline") == pytest.approx(0.2)
    assert share(GEMM, "best") == pytest.approx(0.4)
    assert share({**GEMM, "library_ms": {}}, "best") is None


def test_the_table_has_a_line_a_kernel_then_failures_and_a_summary(script: Script) -> None:
    lines = script("no_model_tables").table([GEMM, SOFTMAX, FAILED]).splitlines()
    assert [line.split()[0] for line in lines] == [
        "kernel", "gemm_triton", "softmax_cuda", "scan_cuda", "2",
    ]  # fmt: skip
    assert "96 %" in lines[2] and "32x (31.5 to 32.5)" in lines[2]
    assert lines[2].endswith("coalesce_global_accesses, then vectorize_global_loads")
    assert lines[3] == "scan_cuda failed: no GPU"
    assert "geometric mean speedup 8x; 1 of 1 bound by memory" in lines[4]
    assert "0 of 1 others" in lines[4]


def test_a_kernel_without_a_confirmed_winner_counts_as_no_speedup(script: Script) -> None:
    tables = script("no_model_tables")
    none = {k: v for k, v in SOFTMAX.items() if k not in ("speedup", "low", "high")}
    assert "geometric mean speedup 1x" in tables.table([{**none, "moves": []}])
    assert tables.table([FAILED]).endswith("no kernel came to a result")


def test_the_table_of_readme_says_where_it_was_measured(script: Script) -> None:
    text = script("no_model_tables").markdown(result(SOFTMAX, FAILED))
    assert "on an G (driver 1, CUDA 13.0, d)" in text
    assert "| softmax_cuda | copy | 3 % | 96 % | 4 | 0.125 | 32x (31.5 to 32.5) |" in text
    assert "scan_cuda" not in text


def test_results_of_several_runs_are_joined_and_later_rows_count(script: Script) -> None:
    joined = script("no_model_tables").joined
    first = result(SOFTMAX, FAILED, not_begun=["gemm_triton"])
    second = result(GEMM, {**FAILED, "error": "again"})
    both = joined([first, second])
    assert [row["kernel"] for row in both["kernels"]] == [
        "gemm_triton", "scan_cuda", "softmax_cuda",
    ]  # fmt: skip
    assert both["kernels"][1]["error"] == "again" and both["not_begun"] == []
    longer = result(SOFTMAX, budget_seconds=60.0, settings={**both["settings"]})
    text = script("no_model_tables").markdown(joined([second, longer]))
    assert "at most 60 builds each in a search of 35 s (1 kernels) or 60 s (1 kernels)" in text
    with pytest.raises(ValueError, match="differ in driver, gpus"):
        joined([first, result(environment={**PLACE, "driver": "2"}, gpus=8)])


def test_settings_are_given_by_name(script: Script) -> None:
    settings_of = script("recording").settings_of
    made = settings_of({"budget_builds": 60}, ["c_puct=0.5", "policy=beam"])
    assert (made.budget_builds, made.c_puct, made.policy) == (60, 0.5, "beam")
    with pytest.raises(ValueError, match="NAME=VALUE, not as `beam`"):
        settings_of({}, ["beam"])
    with pytest.raises(ValueError, match="c_pucd"):
        settings_of({}, ["c_pucd=1"])


def test_the_moves_to_a_winner_are_those_of_the_path_by_which_it_was_found(script: Script) -> None:
    graph = Graph()
    graph.add_root("base")
    grow(graph, "base", "vectorize", "a", 2.0)
    grow(graph, "a", "unroll", "b", 3.0)
    grow(graph, "base", "both", "b", 3.0)
    moves_to = script("recording").moves_to
    assert [(m["method"], m["speedup"]) for m in moves_to(graph, "b")] == [
        ("vectorize", 2.0),
        ("unroll", 3.0),
    ]
    assert moves_to(graph, "base") == []


def grow(graph: Graph, parent: str, method: str, child: str, speedup: float) -> None:
    edge = graph.add_edge(parent, Candidate(method=method, source=child), 1.0)
    if child not in graph.nodes:
        graph.add_node(child, Ending.faster, speedup, (speedup, speedup))
    edge.state, edge.ending, edge.steps = "done", Ending.faster, (len(graph.edges),)
    graph.link_child(edge, child)


def lattice(size: int) -> RecordedGraph:
    """Ways through a square lattice: two moves a node, most nodes are reached by both."""
    keys = [(i, j) for i in range(size) for j in range(size)]
    nodes = [
        RecordedNode(key=f"v{i}{j}", ending=Ending.faster, speedup=1 + i + 2 * j, interval=(1, 99))
        for i, j in keys[1:]
    ]
    root = RecordedNode(key="v00", ending=Ending.tie, speedup=1.0, interval=(1.0, 1.0))
    steps = [((i, j), (i + 1, j), "down") for i, j in keys if i + 1 < size]
    steps += [((i, j), (i, j + 1), "right") for i, j in keys if j + 1 < size]
    edges = tuple(
        RecordedEdge(
            parent=f"v{a}{b}", method=how, prior=1.0, child=f"v{c}{d}", ending=Ending.faster
        )
        for (a, b), (c, d), how in steps
    )
    return RecordedGraph(
        kernel="k", language="cuda", arch="sm_90a", root="v00", nodes=(root, *nodes), edges=edges
    )


def test_a_collector_tries_every_move_of_a_depth_before_the_next_and_no_variant_twice(
    script: Script,
) -> None:
    collect, recording = script("collect_graph"), script("recording")
    settings = recording.settings_of({**collect.EVERYTHING, "budget_builds": 99}, [])
    found = replay(graph_world(lattice(4)), settings)
    assert found.stopped.reason == "exhausted"
    depths = [sum(int(digit) for digit in step.parent[1:]) for step in found.steps]
    assert depths == sorted(depths)
    assert (len(found.steps), found.steps[-1].builds) == (24, 15)
    assert collect.closed_to(found.graph) == len(found.graph.layers) == 7


def test_a_collected_graph_says_down_to_where_it_is_closed(script: Script) -> None:
    collect, recording = script("collect_graph"), script("recording")
    settings = recording.settings_of({**collect.EVERYTHING, "budget_builds": 4}, [])
    assert collect.closed_to(replay(graph_world(lattice(4)), settings).graph) == 1


def test_a_native_kernel_is_collected_until_its_builds_are_spent(
    script: Script, tmp_path: Path
) -> None:
    collect, recording = script("collect_graph"), script("recording")
    settings = recording.settings_of({**collect.EVERYTHING, "budget_builds": 2}, [])
    path = write_spec(tmp_path)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        found = collect.collect(bench, path, settings, 2)
    graph = found.graph
    assert (graph.kernel, graph.language, found.closed_to) == ("lift", "cpp", 0)
    assert len(graph.nodes) == 3 and graph.nodes[0].key == graph.root
    assert all(node.code is not None for node in graph.nodes[1:])
    assert graph.best.speedup is not None and graph.best.speedup >= 1
    assert collect.told(found).startswith("lift: 3 nodes, ")


@further(
    "tests/benchmarks/test_no_model.py::"
    "test_a_native_kernel_is_collected_until_its_builds_are_spent",
    why="a kernel in CUDA on the pretended GPU, from the command line",
)
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ for the pretended GPU")
def test_a_kernel_is_searched_and_told_from_the_command_line(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_model, kernels = script("no_model"), script("beginner_kernels")
    folder = shutil.copytree(BENCHMARKS / "kernels" / "scan", tmp_path / "kernels" / "scan")
    (folder / "triton.json").unlink()
    spec = json.loads((folder / "cuda.json").read_text(encoding="utf-8"))
    for size, workload in enumerate(spec["workloads"], start=7):
        workload["symbols"] = {"rows": size, "cols": 131}
    (folder / "cuda.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setattr(kernels, "KERNELS", tmp_path / "kernels")
    monkeypatch.setattr(kernels, "AMONG_THE_EXAMPLES", ())
    monkeypatch.setattr(no_model, "KERNELS", tmp_path / "kernels")
    output, graphs = tmp_path / "result.json", tmp_path / "graphs.json.gz"
    options = ["--builds", "1", "--output", str(output), "--graphs", str(graphs)]
    monkeypatch.setattr(sys, "argv", ["no_model.py", "scan", *options])
    with pretended_gpu(tmp_path), pytest.raises(SystemExit) as ended:
        no_model.main()
    assert not ended.value.code
    found = json.loads(output.read_text(encoding="utf-8"))
    (row,) = found["kernels"]
    assert (row["kernel"], row["language"], row["builds"]) == ("scan_cuda", "cuda", 1)
    assert row["bound"] == {"main": "memory"} and row["baseline_of_copy_bandwidth"]["main"] > 0
    assert found["gpus"] == 1 and found["not_begun"] == []
    (graph,) = graphs_from_bytes(graphs.read_bytes())
    assert (graph.kernel, graph.language, graph.arch) == ("scan_cuda", "cuda", "sm_90a")
    assert script("no_model_tables").table(found["kernels"])
