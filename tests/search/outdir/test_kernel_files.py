"""Files of the outdir follow from the store: made from records, without running anything."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from io import StringIO
from math import log2
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kernelwright.evaluation.difference import changed_between, launch_words, source_diff
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import (
    BuildFacts,
    BuildOptions,
    Candidate,
    Comparison,
    Ending,
    Evaluation,
    Ratio,
    Variant,
    WorkloadTimes,
)
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.runners.toolchains.host_cpp import DEFAULT_FLAGS
from kernelwright.search.applying.diffs import apply_diff
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.records import edge_record, node_record
from kernelwright.search.outdir.kernel_files import EVERY_S, KernelFiles
from kernelwright.search.outdir.overview import variants
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchRecord
from kernelwright.server.tables import figure_text, kernel_table, variant_table
from kernelwright.store.evaluations import confirmation_of, figure_of
from kernelwright.store.kernels import kernel_record
from kernelwright.store.records import Confirmation, KernelRecord, VariantRecord, shapes_of
from kernelwright.store.store import STATE_FILE, Store
from kernelwright.store.variants import variant_record

SOURCE = "void twice(float* y, int n) {\n  for (int i = 0; i < n; i++) y[i] += y[i];\n}\n"
FASTER = SOURCE.replace("for", "#pragma omp simd\n  for")
COMPARISON = Comparison(
    candidate="v", ratios=(), workloads=(), resolution=0.01, samples=1, seconds=0.1
)

SAID = {"printed": "hello\n"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "out" / STATE_FILE) as opened:
        yield opened


@pytest.fixture
def outdir(tmp_path: Path) -> Path:
    return tmp_path / "out"


def kernel(source: str = SOURCE) -> LoadedKernel:
    arguments = [
        {"name": "y", "role": "inout", "dtype": "float32", "shape": ["N"]},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "N"},
    ]
    spec: dict[str, Any] = {
        "name": "twice",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": source,
            "metadata": {"kernel_name": "twice"},
        },
        "io": {"arguments": arguments},
        "symbols": {"N": None},
        "workloads": [{"name": "w", "symbols": {"N": 10}}],
        "parameters": {"TILE": {"values": [1, 2]}},
        "reference": "baseline",
    }
    return load_data(spec, Path("/"), Roots([]))


def keep_kernel(store: Store, loaded: LoadedKernel, incumbent: str | None = None) -> str:
    baseline = loaded.baseline()
    record = KernelRecord(
        kernel_id=loaded.kernel_id,
        loaded=loaded,
        odd_symbols=None,
        baseline=baseline.variant_id,
        incumbent=incumbent or baseline.variant_id,
        baseline_ms={"w": 2.5},
        opened_at="2000-01-01T00:00:00+00:00",
    )
    with store.transaction() as writer:
        writer.put_record("kernels", loaded.kernel_id, record)
        writer.put_record("variants", baseline.variant_id, VariantRecord(variant=baseline))
    return baseline.variant_id


def child(loaded: LoadedKernel, **changes: Any) -> Variant:
    variant = loaded.baseline().model_copy(update=changes)
    return variant.model_copy(update={"source_key": source_key(variant.source, "cpp")})


def keep(store: Store, variant: Variant, parent: str, **facts: Any) -> str:
    """A variant with one evaluation."""
    variant_id = variant.variant_id
    evaluation = Evaluation.model_validate(
        {
            "evaluation_id": f"{variant_id}/0001",
            "variant_id": variant_id,
            "kernel_id": variant.kernel_id,
            "tier": "native",
            "message": "as it is",
            **facts,
        }
    )
    record = VariantRecord(variant=variant, parent=parent, method="tile")
    with store.transaction() as writer:
        writer.put_record("variants", variant_id, record)
        writer.put_record("evaluations", evaluation.evaluation_id, evaluation)
    return variant_id


def faster(store: Store, loaded: LoadedKernel, speedup: float = 2.0) -> str:
    """A kernel with one faster variant, its incumbent."""
    variant = child(loaded, source=FASTER, parameters={"TILE": 2})
    parent = keep_kernel(store, loaded, variant.variant_id)
    measured = {"speedup": speedup, "interval": (speedup - 0.1, speedup + 0.1)}
    return keep(store, variant, parent, ending="faster", comparison=COMPARISON, **measured)


def confirm(store: Store, variant_id: str, speedup: float, *, accepted: bool = True) -> None:
    """Measured anew, with an interval of a tenth to either side."""
    judged = "faster" if accepted else "tie"
    ratio = Ratio(
        over="b", speedup=speedup, low=speedup - 0.1, high=speedup + 0.1, judgement=judged
    )
    found = Confirmation(
        variant_id=variant_id,
        right=True,
        gates=(),
        visible=COMPARISON.model_copy(update={"ratios": (ratio,)}),
        held_out=None,
        accepted=accepted,
        message="measured anew",
    )
    with store.transaction() as writer:
        writer.put_record("meta", f"confirmation/{variant_id}", found)


def test_a_baseline_has_a_result_as_full_as_any_and_a_build_its_log(
    store: Store, outdir: Path
) -> None:
    loaded = kernel()
    baseline = keep_kernel(store, loaded)
    built = BuildFacts(compiler="g++ 12", command="g++ -O3 k.cpp", seconds=0.5, warnings=("w1",))
    keep(store, loaded.baseline(), "", ending="tie", comparison=COMPARISON, build=built, **SAID)
    broken = keep(
        store, child(loaded, source="void"), baseline, ending="build_failed", message="k.cpp:1: no"
    )
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    result = read(folder / "baseline" / "result.json")
    assert result["median_ms"] == {"w": 2.5} and result["ending"] == "tie" and result["build"]
    assert (folder / "baseline" / "stdout.log").read_text("utf-8") == "hello\n"
    assert not (folder / "variants" / broken / "stdout.log").exists()
    log = (folder / "baseline" / "build.log").read_text("utf-8")
    assert log == "g++ -O3 k.cpp\ng++ 12: 0.5 s\nw1\n"
    assert (folder / "variants" / broken / "build.log").read_text("utf-8") == "k.cpp:1: no\n"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_variant_has_its_source_its_result_and_the_diff_to_its_parent(
    store: Store, outdir: Path
) -> None:
    loaded = kernel()
    winner = faster(store, loaded)
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    assert folder == outdir / "kernels" / "twice"
    files = folder / "variants" / winner
    assert {file.name for file in files.iterdir()} == {
        "build.sh",
        "candidate.diff",
        "control.json",
        "kernel.cpp",
        "result.json",
        "stdout.log",
    }
    assert (files / "kernel.cpp").read_text(encoding="utf-8") == FASTER
    diff = (files / "candidate.diff").read_text(encoding="utf-8")
    assert apply_diff(SOURCE, diff) == FASTER
    assert read(files / "control.json")["parameters"] == {"TILE": 2}
    assert read(files / "result.json")["ending"] == "faster"
    assert read(folder / "baseline" / "result.json") == {"version": 1, "median_ms": {"w": 2.5}}


def test_the_best_is_built_by_the_line_that_lies_beside_it(store: Store, outdir: Path) -> None:
    loaded = kernel('#include "half.h"\n' + SOURCE.replace("y[i] += y[i]", "y[i] += HALF * TILE"))
    loaded = loaded.model_copy(update={"files": {"half.h": "#define HALF 0.5f\n"}})
    winner = faster(store, loaded)
    source = '#include "half.h"\n' + FASTER.replace("y[i] += y[i]", "y[i] += HALF * TILE")
    with store.transaction() as writer:
        record = variant_record(store, winner)
        changed = record.variant.model_copy(update={"source": source})
        writer.put_record("variants", winner, record.model_copy(update={"variant": changed}))
    confirm(store, winner, 1.5)
    best = KernelFiles(store, outdir).write(loaded.kernel_id) / "best"
    done = subprocess.run(["sh", best / "build.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (best / "kernel.o").is_file()
    text = (best / "build.sh").read_text(encoding="utf-8")
    assert "1.5x (1.4 to 1.6) the baseline, confirmed" in text
    build = read(best / "control.json")["build"]
    assert build["flags"] == list(DEFAULT_FLAGS) and build["macros"] == ["-DTILE=2"]
    assert all(flag in build["compile"].split() for flag in (*DEFAULT_FLAGS, "-DTILE=2"))
    assert build["link"] == "kernel.o -fopenmp"


def test_the_schema_and_the_readme_say_the_flags_that_are_the_default() -> None:
    flags = " ".join(DEFAULT_FLAGS)
    schema = json.dumps(KernelSpec.model_json_schema()).replace("\\n", " ")
    assert f"{flags} for C++" in " ".join(schema.split())
    assert flags in (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def test_best_follows_the_incumbent(store: Store, outdir: Path) -> None:
    loaded = kernel()
    baseline = keep_kernel(store, loaded)
    exports = KernelFiles(store, outdir)
    best = exports.write(loaded.kernel_id) / "best"
    assert best.readlink() == Path("baseline")
    assert read(best.parent / "best_summary.json")["variant_id"] == baseline
    winner = faster(store, loaded)
    exports.write(loaded.kernel_id)
    assert best.readlink() == Path("variants") / winner
    summary = read(best.parent / "best_summary.json")
    assert summary["speedup"] == 2.0
    assert summary["changed"] == "TILE=2, source (+1 -0 lines)"


def test_a_winner_that_was_found_wrong_in_the_end_is_not_the_best(
    store: Store, outdir: Path
) -> None:
    loaded = kernel()
    winner = faster(store, loaded)
    refused = Confirmation(
        variant_id=winner,
        right=False,
        gates=(),
        visible=None,
        held_out=None,
        accepted=False,
        message="gate outputs: differs",
    )
    with store.transaction() as writer:
        writer.put_record("meta", f"confirmation/{winner}", refused)
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    assert (folder / "best").readlink() == Path("baseline")
    assert not read(folder / "variants" / winner / "result.json")["confirmation"]["right"]


def test_what_was_confirmed_is_told_everywhere_and_the_search_by_its_name(
    store: Store, outdir: Path
) -> None:
    loaded = kernel()
    winner = faster(store, loaded, speedup=3.0)
    confirm(store, winner, 1.5)
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    summary = read(folder / "best_summary.json")
    assert (summary["speedup"], summary["interval"], summary["confirmed"]) == (
        1.5,
        [1.4, 1.6],
        True,
    )
    assert summary["speedup_in_the_search"] == 3.0
    record = kernel_record(store, loaded.kernel_id)
    line = variants(store, record)[0]
    assert (line.speedup, line.interval, line.figure.searched) == (1.5, (1.4, 1.6), 3.0)
    printed = StringIO()
    console = Console(file=printed, width=160)
    console.print(variant_table([line]), kernel_table([(record, figure_of(store, winner))]))
    assert printed.getvalue().count("1.5x (1.4 to 1.6), confirmed; 3x in the search") == 2


@pytest.mark.parametrize(
    ("seen", "unseen", "told"),
    [
        (1, 0, "1 shape alone, none held out"),
        (2, 0, "2 shapes alone, none held out"),
        (2, 1, "2 shapes and 1 held out"),
    ],
)
def test_a_confirmation_says_how_many_shapes_it_rests_on(
    store: Store, seen: int, unseen: int, told: str
) -> None:
    def on(count: int) -> Comparison:
        each = WorkloadTimes(workload="w", weight=1, median_ms={}, blocks_ms={})
        return COMPARISON.model_copy(update={"workloads": (each,) * count})

    winner = faster(store, kernel())
    confirm(store, winner, 1.5)
    found = confirmation_of(store, winner)
    assert found is not None
    changes = {"visible": on(seen), "held_out": on(unseen) if unseen else None}
    assert shapes_of(found.model_copy(update=changes)) == told


def test_a_gain_that_was_not_confirmed_is_never_told_as_one(store: Store, outdir: Path) -> None:
    loaded = kernel()
    winner = faster(store, loaded, speedup=3.0)
    assert figure_text(figure_of(store, winner)) == "3x (2.9 to 3.1)"
    confirm(store, winner, 1.1, accepted=False)
    told = figure_text(figure_of(store, winner))
    assert told == "1.1x (1 to 1.2), not confirmed; 3x in the search"
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    assert read(folder / "best_summary.json")["confirmed"] is False


def test_what_the_compiler_said_lies_beside_the_variant(store: Store, outdir: Path) -> None:
    loaded = kernel()
    parent = keep_kernel(store, loaded)
    facts = BuildFacts(compiler="g++", command="g++", seconds=1, warnings=("w.cpp:1: warning: x",))
    broken = keep(
        store,
        child(loaded, parameters={"TILE": 2}),
        parent,
        ending="build_failed",
        message="error: no such thing",
        build=facts,
    )
    files = KernelFiles(store, outdir).write(loaded.kernel_id) / "variants" / broken
    said = (files / "stderr.log").read_text(encoding="utf-8")
    assert said == "w.cpp:1: warning: x\nerror: no such thing\n"
    assert not (files / "candidate.diff").exists()


def test_a_later_kernel_of_the_same_name_lies_under_its_id(store: Store, outdir: Path) -> None:
    first, second = kernel(), kernel(FASTER)
    for loaded in (first, second):
        keep_kernel(store, loaded)
    exports = KernelFiles(store, outdir)
    assert exports.folder(first.kernel_id).name == "twice"
    assert exports.folder(second.kernel_id).name == second.kernel_id
    assert KernelFiles(store, outdir).folder(second.kernel_id).name == second.kernel_id


def test_files_are_written_at_most_every_ten_seconds(store: Store, outdir: Path) -> None:
    loaded = kernel()
    keep_kernel(store, loaded)
    times = iter([100.0, 100.0, 100.0 + EVERY_S - 1, 100.0 + EVERY_S, 200.0])
    exports = KernelFiles(store, outdir, clock=lambda: next(times))
    assert exports.write_if_due(loaded.kernel_id)
    assert not exports.write_if_due(loaded.kernel_id)
    assert exports.write_if_due(loaded.kernel_id)


def test_what_has_not_changed_is_not_written_again(store: Store, outdir: Path) -> None:
    loaded = kernel()
    faster(store, loaded)
    folder = KernelFiles(store, outdir).write(loaded.kernel_id)
    before = {f: f.lstat().st_ino for f in folder.rglob("*")}
    KernelFiles(store, outdir).write(loaded.kernel_id)
    assert {f: f.lstat().st_ino for f in folder.rglob("*")} == before


def test_events_are_appended_one_line_each(store: Store, outdir: Path) -> None:
    loaded = kernel()
    keep_kernel(store, loaded)
    for number in (1, 2):
        KernelFiles(store, outdir).append(
            loaded.kernel_id, "step", {"step": number, "text": "a\nb"}
        )
    lines = (outdir / "kernels" / "twice" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]


def test_the_state_and_the_trace_of_a_search_tell_its_steps(store: Store, outdir: Path) -> None:
    loaded = kernel()
    winner = faster(store, loaded)
    baseline = loaded.baseline().variant_id
    search = SearchRecord(
        search_id="s1",
        kernel_id=loaded.kernel_id,
        planner="rules",
        settings=Settings(),
        started_at="2000",
        stopped="budget",
        stopped_text="spent",
    )
    graph = Graph()
    graph.add_root(baseline)
    edge = graph.add_edge(baseline, Candidate(method="tile", source=FASTER), 1.0)
    graph.add_node(winner, Ending.faster, 2.0, (1.9, 2.1))
    graph.link_child(edge, winner)
    edge.state, edge.ending, edge.steps = "done", Ending.faster, (0,)
    edge.builds, edge.became_incumbent = 1, True
    with store.transaction() as writer:
        writer.put_record("searches", "s1", search)
        for node in graph.nodes.values():
            writer.put("nodes", f"s1/{node.key}", node_record(graph, node))
        writer.put("edges", f"s1/{edge.edge_id}", edge_record(edge))
    folder = KernelFiles(store, outdir).write(loaded.kernel_id, "s1")
    state = read(folder / "search_state.json")
    assert (state["incumbent"], state["builds"], state["evaluations"]) == (winner, 1, 1)
    assert "source" not in state["edges"][0]["candidate"]
    nodes = {node["key"]: node for node in state["nodes"]}
    assert state["version"] == 1 and nodes[winner]["visits"] == 1
    assert nodes[winner]["source"] == f"variants/{winner}/kernel.cpp"
    assert nodes[winner]["depth"] == 1 and nodes[winner]["q_interval"] == [log2(1.9), log2(2.1)]
    assert state["edges"][0]["q"] == 1.0 and state["edges"][0]["prior"] == 1.0
    assert nodes[winner]["methods"] == ["tile"] and nodes[baseline]["methods"] == []
    assert nodes[winner]["reward"] == nodes[winner]["q"] == nodes[baseline]["q"] == 1.0
    assert nodes[baseline]["reward"] == 0.0
    assert (folder / nodes[winner]["files"] / "kernel.cpp").read_text("utf-8") == FASTER
    page = (folder / "trace.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| 1 |"))
    assert winner in row
    assert "faster, **new best**" in row
    assert "2x (1.9 to 2.1)" in row
    assert f"`{winner}`, not confirmed yet." in page
    confirm(store, winner, 1.5)
    KernelFiles(store, outdir).write(loaded.kernel_id, "s1")
    page = (folder / "trace.md").read_text(encoding="utf-8")
    assert page.index(f"`{winner}`: 1.5x (1.4 to 1.6), confirmed on") < page.index(
        "2x (1.9 to 2.1)"
    )
    assert "speedup in the search" in page
    assert "stopped (budget): spent" in page


def test_the_difference_of_two_variants_is_told_in_words() -> None:
    loaded = kernel()
    base = loaded.baseline()
    assert changed_between(base, base) == ""
    assert changed_between(base, child(loaded, parameters={"TILE": 2})) == "TILE=2"
    flags = BuildOptions(compiler="g++", flags=("-O2",))
    assert changed_between(base, child(loaded, options=flags)) == "g++ -O2"
    simd = child(loaded, source=FASTER)
    assert changed_between(base, simd) == "source (+1 -0 lines)"
    assert source_diff(base.source, simd.source, "k.cpp").startswith("--- a/k.cpp\n+++ b/k.cpp\n")


def test_what_launches_is_told_as_far_as_it_changed() -> None:
    base = kernel().baseline()
    first = base.model_copy(update={"plan": {"grid": ["cdiv(n, TILE)", 2], "num_warps": 4}})
    second = base.model_copy(update={"plan": {**(first.plan or {}), "num_warps": 8}})
    told = [changed_between(*pair) for pair in ((base, first), (first, second), (second, base))]
    assert told == [
        "launch (grid cdiv(n, TILE) x 2, num_warps 4)",
        "launch (num_warps 8)",
        "launch (the spec's)",
    ]
    steps = [{"fill": "total"}, {"launch": "sum", "grid": [8, 1, 1], "block": 64, "args": ["x"]}]
    assert launch_words({"steps": steps, "defines": {"TILE": 64}}) == (
        "steps fill total; launch sum grid 8 block 64, defines TILE=64"
    )
