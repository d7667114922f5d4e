"""The tools that look at code and counters agree: of two kernels on a GPU, and without one as far
as a profile made of the machine code itself can show it."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from device_kernels import built, gpu_of
from planted_kernels import PAIRS
from pretend_gpu import pretended_gpu
from profiles import module, report_file, stand_in_ncu
from real_reports import needs_reader, real_launch
from tiers import cases, further

from kernelwright.analysis.profile.names import OPCODES, SECTIONS
from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions import region_dag
from kernelwright.analysis.sass import read_sass
from kernelwright.analysis.spans import join
from kernelwright.evaluation.evidence.kernel_code import Launched, launched_kernels
from kernelwright.evaluation.evidence.profiles import kept_profile
from kernelwright.runners.profiling import readers
from kernelwright.runners.profiling.model import (
    Instruction,
    KernelProfile,
    LaunchShape,
    Metric,
    Profile,
)
from kernelwright.runners.profiling.permission import why_no_counters
from kernelwright.runners.profiling.wanted import SAMPLES
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import ArtifactRecord

ROOT = Path(__file__).parents[2]
needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(readers.program() is None, reason="no ncu here"),
    pytest.mark.skipif(bool(why_no_counters()), reason=why_no_counters()),
]
needs_triton = pytest.mark.skipif(
    not (find_spec("triton") and find_spec("torch")), reason="triton and torch are not installed"
)
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
needs_builds = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)
SMALL = {"cuda_histogram": {"n": 4096}, "cuda_sgemm": {"M": 64, "N": 64, "K": 48}}
PARTS = ("summary", "kept", "regions", "spans", "compared")
METRICS = {name for names in SECTIONS.values() for name in names}

Script = Callable[[str], Any]


def subject(script: Script, name: str) -> Any:
    return next(each for each in script("instruments").SUBJECTS if each.name == name)


def look(script: Script, bench: Workbench, subject: Any, reports: Path) -> dict[str, Any]:
    """A row of the script, all parts of which came to something."""
    instruments = script("instruments")
    row = instruments.looked_at(bench, subject, reports, math.inf)
    assert instruments.errors([row]) == []
    assert set(PARTS) <= set(row) and instruments.table([row])
    assert json.loads((reports / f"{subject.name}.found.json").read_text()) == json.loads(
        json.dumps(row)
    )
    return row


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        pytest.param("triton_softmax", ("global_load", "global_store", "sync"), marks=needs_gpu),
        pytest.param("cuda_histogram", ("global_load", "atomic"), marks=needs_gpu),
    ],
)
def test_on_a_gpu_samples_lie_on_lines_of_the_source_and_opcodes_agree(
    script: Script, tmp_path: Path, name: str, classes: tuple[str, ...]
) -> None:
    with gpu_of("real", tmp_path), Workbench(tmp_path / "out", [ROOT]) as bench:
        row = look(script, bench, subject(script, name), tmp_path)
        profile = kept_profile(bench, row["variant_id"], row["kept"]["workload"])
    assert profile is not None
    assert all(set(launch.metrics) >= METRICS for launch in profile.launches)
    samples, opcodes = row["compared"]["samples"], row["compared"]["opcodes"]
    assert samples["other_build"] == "" and samples["unlike"] == []
    assert samples["samples"] > 0
    assert samples["on_lines_of_the_source"] == 1.0
    unplaced = samples["without_a_line_in_the_report"]
    assert samples["a_line_of_our_chain"] + unplaced == pytest.approx(1.0)
    assert "% of samples" in row["regions"]["hot_region"]
    assert opcodes["unclassed"] == []
    assert {each: opcodes["classes"][each]["verdict"] for each in classes} == dict.fromkeys(
        classes, "equal"
    )


def made_of_code(bench: Workbench, variant_id: str, workload: str, kept: Path) -> Profile:
    """The profile of a run in which each machine instruction was executed once by every warp, and
    sampled three times; all other metrics are those of a kernel on an H200."""
    kept.write_bytes(report_file())
    record = bench.store.require_record("artifacts", variant_id, ArtifactRecord)
    plan = record.artifact.plans[workload]
    blocks = {each.entry: (each.id, each.block) for each in plan.kernels}
    grids = {each.launch: each.grid for each in plan.launches}
    kernels = launched_kernels(bench, variant_id, workload, None, listed=True)
    return Profile(
        launches=tuple(
            executed_once(each, grids[blocks[each.entry][0]], blocks[each.entry][1])
            for each in kernels
        )
    )


def executed_once(
    kernel: Launched, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> KernelProfile:
    warps = float(math.prod(grid) * -(-math.prod(block) // 32))
    code = kernel.code(read_ptx(kernel.ptx))
    places = [(each, each.place[0] if each.place else None) for each in code.sass]
    instructions = tuple(
        Instruction(
            offset=each.offset,
            sass=each.text,
            file="" if place is None else f"/src/{place.file}",
            line=None if place is None else place.line,
            counters={SAMPLES: 3.0, "inst_executed": warps},
        )
        for each, place in places
    )
    opcodes = Counter(each.opcode.partition(".")[0] for each in code.sass)
    counted = {name: number * warps for name, number in opcodes.items()}
    base = real_launch("tensor_unused", "repaired")
    metrics = {**base.metrics, OPCODES: Metric(value=sum(counted.values()), instances=counted)}
    change = {"kernel": kernel.entry, "name": kernel.entry, "instructions": instructions}
    shape = LaunchShape(grid=grid, block=block)
    return base.model_copy(update={**change, "metrics": metrics, "shape": shape})


@needs_reader
@cases(
    ("name", "classes"),
    [
        pytest.param("cuda_histogram", {"global_load", "atomic"}, marks=needs_cuda),
        pytest.param(
            "triton_softmax", {"global_load", "global_store", "shared", "sync"}, marks=needs_triton
        ),
    ],
    why="a further kernel",
)
def test_of_a_kernel_that_runs_straight_through_every_count_is_found_again(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, classes: set[str]
) -> None:
    row = looked_without_gpu(script, tmp_path, monkeypatch, name)
    samples, opcodes = row["compared"]["samples"], row["compared"]["opcodes"]
    assert samples["other_build"] == "" and samples["unlike"] == []
    assert samples["on_lines_of_the_source"] == samples["same_innermost_line"] == 1.0
    assert {c: each["verdict"] for c, each in opcodes["classes"].items()} == dict.fromkeys(
        classes, "equal"
    )
    (kernel,) = row["kept"]["kernels"]
    ptx, cubin = (
        gzip.decompress((tmp_path / kernel[kind]).read_bytes()) for kind in ("ptx", "cubin")
    )
    assert region_dag(ptx.decode()).entry == kernel["entry"]
    assert hashlib.sha256(cubin).hexdigest() == kernel["cubin_sha256"]


@further(
    "tests/gpu/test_instruments.py::test_a_candidate_that_was_only_built_is_profiled_and_kept",
    why="the kernel of one of its reports",
)
@needs_reader
@needs_cuda
def test_the_kernel_for_tensor_cores_is_the_candidate_with_wgmma(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = looked_without_gpu(script, tmp_path, monkeypatch, "hgemm_wgmma")
    opcodes = row["compared"]["opcodes"]
    assert opcodes["sass"]["HGMMA"] > 0
    assert {"tensor", "async_copy", "sync"} <= set(opcodes["classes"])
    assert opcodes["unclassed"] == []


def looked_without_gpu(
    script: Script, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> dict[str, Any]:
    real_launch("tensor_unused", "repaired")  # before a stand-in reads reports
    found = module(folder / "module")
    monkeypatch.setattr(readers, "module_folders", lambda: (found,))
    with Workbench(folder / "out", [ROOT]) as bench:

        def made(variant_id: str, workload: str, kept: Path, *, full: bool) -> Profile:
            return made_of_code(bench, variant_id, workload, kept)

        monkeypatch.setattr(bench.evaluator, "profile", made)
        return look(script, bench, subject(script, name), folder)


def small(folder: Path, name: str) -> Path:
    """The spec of an example on one small workload."""
    shutil.copytree(ROOT / "examples" / name, folder / name)
    spec = folder / name / "spec.json"
    data = json.loads(spec.read_text(encoding="utf-8"))
    data["workloads"] = [{"name": "small", "symbols": SMALL[name]}]
    spec.write_text(json.dumps(data), encoding="utf-8")
    return spec


@needs_builds
def test_a_candidate_that_was_only_built_is_profiled_and_kept(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_ncu(tmp_path, "histogram", monkeypatch)
    of = script("instruments").Subject(
        "mine", small(tmp_path, "cuda_histogram"), "avoid_atomics_reduce"
    )
    with pretended_gpu(tmp_path), Workbench(tmp_path / "out", [tmp_path]) as bench:
        row = look(script, bench, of, tmp_path)
    assert "histogram" in row["compared"]["entry"]
    assert gzip.decompress((tmp_path / "mine.ncu-rep.gz").read_bytes()) == report_file()


@needs_builds
def test_a_search_tells_of_the_incumbents_that_it_profiled(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_ncu(tmp_path, "sgemm", monkeypatch)
    instruments = script("instruments")
    monkeypatch.setattr(instruments, "BUILDS", 1)
    monkeypatch.setattr(instruments, "EVERY", 1)
    with pretended_gpu(tmp_path), Workbench(tmp_path / "out", [tmp_path]) as bench:
        found = instruments.searched(bench, small(tmp_path, "cuda_sgemm"), tmp_path)
    assert instruments.errors([found]) == []
    assert found["profiles"] and (tmp_path / "search.1.ncu-rep.gz").exists()
    assert instruments.told(found).startswith("search of cuda_sgemm: ")


@needs_builds
def test_a_report_that_cannot_be_used_is_kept_with_the_reason(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_ncu(tmp_path, "another", monkeypatch)
    instruments = script("instruments")
    of = instruments.Subject("mine", small(tmp_path, "cuda_histogram"))
    with pretended_gpu(tmp_path), Workbench(tmp_path / "out", [tmp_path]) as bench:
        row = instruments.looked_at(bench, of, tmp_path, math.inf)
    assert "another kernel" in row["summary"]["error"]
    assert row["kept"]["reports"] == ["mine.ncu-rep.gz"]
    assert (tmp_path / "mine.ncu-rep.gz").exists() and row["regions"]["hot_region"]


def test_a_kernel_that_fails_is_told_and_costs_no_other(script: Script, tmp_path: Path) -> None:
    instruments = script("instruments")
    missing = instruments.Subject("missing", tmp_path / "none.json")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        row = instruments.looked_at(bench, missing, tmp_path, math.inf)
        late = instruments.looked_at(bench, missing, tmp_path, -math.inf)
    assert "none.json" in row["error"] and "not begun" in late["error"]
    told = instruments.table([row, late]).splitlines()
    assert len(told) >= 5 and told[1].startswith("missing")
    partly = {"kernel": "k", "spans": {"error": "why"}}
    assert instruments.errors([partly]) == ["k, spans: why"]


@pytest.mark.parametrize(
    ("static", "executed", "said"),
    [
        (4.0, 4.0, "equal"),
        (4.0, 2.0, "fewer executed"),
        (4.0, 8.0, "more executed"),
        (0.0, 1.0, "not in the PTX, executed"),
        (4.0, 0.0, "in the PTX, not executed"),
        (None, 4.0, "trips unknown, executed"),
    ],
)
def test_counts_of_a_class_are_told_in_words(
    script: Script, static: float | None, executed: float, said: str
) -> None:
    assert script("instruments_counts").verdict(static, executed) == said


@needs_reader
@pytest.mark.skipif("nvrtc" not in present(), reason="no NVRTC here")
def test_a_real_report_of_tensor_cores_has_as_many_instructions_as_the_ptx_tells(
    script: Script,
) -> None:
    launch = real_launch("tensor_unused", "repaired")
    cubin, ptx = built(PAIRS["tensor_unused"].repaired.source, "sm_90a")
    dag, counts = region_dag(ptx), script("instruments_counts")
    classes = counts.counted(dag, launch, {})["classes"]
    assert {classes[name]["verdict"] for name in ("global_load", "global_store", "tensor")} == {
        "equal"
    }
    placed = counts.placed(launch, join("twice", read_ptx(ptx), read_sass(cubin)), dag, "test.cu")
    if not placed["other_build"]:
        assert placed["on_lines_of_the_source"] == placed["same_innermost_line"] == 1.0
