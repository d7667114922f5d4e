"""Whether candidates touch the region that their parent's profile blames, on a pretended GPU with a
profile made by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import gpu_lift
import pytest
from pretend_gpu import pretended_gpu
from profiles import keep_profile, launch, run

from kernelwright.evaluation.evidence.kernel_code import code_of_variant
from kernelwright.runners import progress
from kernelwright.runners.model import Candidate
from kernelwright.runners.profiling.model import Instruction
from kernelwright.runners.profiling.wanted import SAMPLES
from kernelwright.runners.toolchains import BuildOutcome
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.outdir.events import EVENTS
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.hot_regions import HotRegions
from kernelwright.store.lessons import transition_rows
from kernelwright.store.records import VariantRecord
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.parts.ready_made import ready_candidate
from kernelwright.tools.search_step import SearchStepArguments, search_step

pytestmark = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)
ADD = "        sum += x[i];\n"
SOURCE = f"""\
extern "C" __global__ void lift(const volatile float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int r = 0; r < 4; ++r)
{ADD}    y[i] = 0.5f * sum + 1.0f;
}}
"""
CHANGED = {
    "store": SOURCE.replace("0.5f * sum + 1.0f", "0.5f * sum + 0.25f + 0.75f"),
    "sum": SOURCE.replace("r < 4", "r < 8").replace("0.5f * sum", "0.25f * sum"),
}
KERNEL: dict[str, Any] = {
    "kernel_type": "cuda",
    "source_code": SOURCE,
    "metadata": {"kernel_name": "lift"},
    "launch": {"grid": [gpu_lift.GRID], "block": [256]},
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, str]]:
    folder = tmp_path_factory.mktemp("pretended")
    workloads = [{"name": "usual", "symbols": {"n": 2048}}]
    with pretended_gpu(folder), Workbench(folder / "out", [folder]) as bench:
        loaded = gpu_lift.load(folder, kernel=KERNEL, workloads=workloads, parameters={})
        yield bench, bench.evaluator.open(loaded).kernel_id


def with_samples(bench: Workbench, kernel_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile of the baseline, all of whose samples lie where it adds up."""
    baseline = bench.evaluator.kernel(kernel_id).baseline
    (code,) = code_of_variant(bench, baseline, None, None)
    line = SOURCE.splitlines().index(ADD.rstrip("\n")) + 1
    there = [e for e in code.sass if any(frame.line == line for frame in e.place)]
    adds = [Instruction(offset=each.offset, counters={SAMPLES: 9.0}) for each in there]
    one = launch({"gpu__time_duration.sum": 9}, kernel="lift", instructions=tuple(adds))
    keep_profile(bench, baseline, run(one), monkeypatch)


def test_a_candidate_away_from_the_hot_region_is_told_before_it_is_built_and_after(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    with_samples(bench, kernel_id, monkeypatch)
    asked = search_step(bench, SearchStepArguments(kernel_id=kernel_id, planner="client"))
    assert asked.needs_candidates is not None
    sent = [{"method": name, "source": source} for name, source in CHANGED.items()]
    answer = {"ticket": asked.needs_candidates.ticket, "candidates": sent}
    told = search_step(
        bench, SearchStepArguments.model_validate({"search_id": asked.search_id, **answer})
    )
    (note,) = told.notes
    assert note.startswith("store: touches the hot region: no, by its lines: R")
    assert "lines 7 differ" in note

    steps = {each.method: each.touches_hot_region or "" for each in told.steps}
    assert steps["store"].startswith("no: R")
    assert steps["sum"].startswith("yes: R") and "of samples" in steps["sum"]
    rows = [Transition.model_validate(each) for _, each in transition_rows(bench.store)]
    assert {each.to_method: each.touches_hot_region for each in rows} == {
        "store": False, "sum": True,
    }  # fmt: skip

    folder = bench.files.folder(kernel_id)
    events = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    order = [(each["event"], each.get("method")) for each in events]
    assert order.index(("foreseen", "store")) < order.index(("step", "store"))
    assert ("foreseen", "sum") not in order
    stepped = {e["method"]: e["touches_hot_region"] for e in events if e["event"] == "step"}
    assert stepped["sum"].startswith("yes")


def test_a_ready_candidate_is_told_so_too(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    with_samples(bench, kernel_id, monkeypatch)
    kernel = bench.evaluator.kernel(kernel_id)
    baseline = bench.evaluator.variant(kernel.baseline)
    hot = HotRegions(bench, kernel)
    told = {
        name: ready_candidate(hot, baseline, Candidate(method=name, source=source), 1.0)
        for name, source in CHANGED.items()
    }
    assert (told["store"].touches_hot_region or "").startswith("no, by its lines: R")
    assert told["sum"].touches_hot_region is None


def test_compile_variant_says_so_before_it_builds_and_else_afterwards(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    with_samples(bench, kernel_id, monkeypatch)
    order = list[str]()

    class Heard(progress.Listener):
        def report(self, message: str) -> None:
            pass

        def found(self, message: str) -> None:
            order.append(message)

    build = bench.evaluator.build

    def noted(record: VariantRecord) -> BuildOutcome:
        order.append(f"builds {record.method}")
        return build(record)

    monkeypatch.setattr(bench.evaluator, "build", noted)
    with progress.listening(Heard()):
        told = {
            name: compile_variant(
                bench, CompileVariantArguments(kernel_id=kernel_id, source=source, method=name,
                                               base="baseline")
            ).touches_hot_region
            for name, source in CHANGED.items()
        }  # fmt: skip
    assert (told["store"] or "").startswith("no, by its lines: R")
    assert (told["sum"] or "").startswith("yes: R")
    said = next(line for line in order if line.startswith("store: touches the hot region: no"))
    assert order.index(said) < order.index("builds store")
    assert not any(line.startswith("sum: touches") for line in order)


def test_without_a_profile_nothing_is_said(opened: tuple[Workbench, str]) -> None:
    bench, kernel_id = opened
    shutil.rmtree(bench.outdir / "profiles", ignore_errors=True)
    asked = search_step(bench, SearchStepArguments(kernel_id=kernel_id, planner="client"))
    assert asked.needs_candidates is not None
    sent = [{"method": "again", "source": SOURCE.replace("0.5f * sum", "sum * 0.5f")}]
    answer = {"ticket": asked.needs_candidates.ticket, "candidates": sent}
    told = search_step(
        bench, SearchStepArguments.model_validate({"search_id": asked.search_id, **answer})
    )
    assert told.notes == () and [s.touches_hot_region for s in told.steps] == [None]
