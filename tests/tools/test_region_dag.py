"""The Region-DAG of a variant as a client asks for it, without a GPU."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from kernels import tiny_kernel, with_known_peaks
from profiles import keep_profile, launch, run
from pydantic import ValidationError
from tiers import cases

from kernelwright.analysis.ptx.effects import effect
from kernelwright.evaluation.evidence.kernel_code import code_of_variant
from kernelwright.runners.errors import SpecError
from kernelwright.runners.plans.plan import module_name
from kernelwright.runners.profiling.model import Instruction
from kernelwright.runners.profiling.wanted import SAMPLES
from kernelwright.search.session.workbench import Workbench
from kernelwright.store.records import ArtifactRecord
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.region_dag import RegionDagArguments, RegionDagResult, region_dag

EXAMPLES = Path(__file__).parents[2] / "examples"
MAX_REPLY_CHARS = 4500
"""1,500 tokens of code and JSON, at three characters a token"""
TRITON = bool(find_spec("triton") and find_spec("torch"))
needs_triton = pytest.mark.skipif(not TRITON, reason="triton and torch are not installed")
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
CUDA_SPECS = [str(p.relative_to(EXAMPLES)) for p in sorted(EXAMPLES.glob("cuda_*/spec.json"))]
TRITON_SPECS = [str(p.relative_to(EXAMPLES)) for p in sorted(EXAMPLES.glob("triton_*/spec.json"))]
TIME = "gpu__time_duration.sum"


def baseline(bench: Workbench, spec: str) -> str:
    opened = open_kernel(bench, OpenKernelArguments(spec_path=spec))
    return bench.evaluator.kernel(opened.kernel_id).baseline


def changed(bench: Workbench, variant_id: str, **change: Any) -> str:
    """A variant that the change makes of another."""
    kernel_id = bench.evaluator.variant(variant_id).variant.kernel_id
    arguments = CompileVariantArguments(kernel_id=kernel_id, base=variant_id, **change)
    built = compile_variant(bench, arguments)
    assert built.ok, built.diagnostics
    return built.variant_id


def ask(bench: Workbench, variant_id: str, view: Any = "overview", **given: Any) -> RegionDagResult:
    reply = region_dag(bench, RegionDagArguments(variant_id=variant_id, view=view, **given))
    text = json.dumps(reply.model_dump(mode="json", exclude_none=True))
    assert len(text) <= MAX_REPLY_CHARS
    variant = bench.evaluator.variant(variant_id).variant
    spec = bench.evaluator.kernel(variant.kernel_id).spec
    assert not any(f'"{w.name}"' in text for w in spec.workloads if w.held_out)
    return reply


def pages(bench: Workbench, variant_id: str, view: str, **given: Any) -> Iterator[RegionDagResult]:
    offset: int | None = 0
    while offset is not None:
        reply = ask(bench, variant_id, view, offset=offset, **given)
        yield reply
        assert reply.next_offset is None or reply.next_offset > offset
        offset = reply.next_offset


def look_at_all(bench: Workbench, variant_id: str) -> None:
    """Every stage and region, all pages of them."""
    told = ask(bench, variant_id).overview
    assert told is not None and told.hottest_regions
    seen = list[str]()
    for n in range(1, told.stages + 1):
        replies = pages(bench, variant_id, "stage", name=f"S{n}")
        seen += [row.name for reply in replies if reply.stage for row in reply.stage.regions]
    assert sorted(seen) == sorted(f"R{n}" for n in range(1, told.regions + 1))
    lines = 0
    for name in seen:
        replies = pages(bench, variant_id, "region", name=name)
        lines += sum(len(reply.region.ptx.splitlines()) for reply in replies if reply.region)
    assert lines == told.instructions


@needs_cuda
@cases(
    "spec",
    CUDA_SPECS,
    why="further kernels of CUDA",
)
def test_all_of_a_cuda_kernel_is_seen_in_small_replies(bench: Workbench, spec: str) -> None:
    look_at_all(bench, baseline(bench, spec))


@needs_triton
@cases(
    "spec",
    TRITON_SPECS,
    why="further kernels of Triton",
)
def test_all_of_a_triton_kernel_is_seen_in_small_replies(bench: Workbench, spec: str) -> None:
    look_at_all(bench, baseline(bench, spec))


@needs_cuda
def test_a_kernel_is_chosen_by_its_work_and_with_a_profile_by_its_time(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant_id = baseline(bench, "cuda_sum/spec.json")
    told = ask(bench, variant_id)
    assert (told.kernel, told.other_kernels) == ("sum_blocks", ("sum_all",))
    assert ask(bench, variant_id, kernel="sum_all").kernel == "sum_all"
    launches = [
        launch({TIME: time}, kernel=name) for name, time in (("sum_blocks", 100), ("sum_all", 200))
    ]
    keep_profile(bench, variant_id, run(*launches), monkeypatch)
    assert ask(bench, variant_id).kernel == "sum_all"
    with pytest.raises(SpecError, match="Valid: sum_blocks, sum_all"):
        ask(bench, variant_id, kernel="sum")


@needs_triton
def test_a_larger_tile_is_more_work_in_the_same_regions(bench: Workbench) -> None:
    variant_id = baseline(bench, "triton_matmul/spec.json")
    other = changed(bench, variant_id, parameters={"BLOCK_N": 128})
    replies = list(pages(bench, variant_id, "difference", other=other))
    assert replies[0].difference is not None and replies[0].difference.totals
    assert all(reply.difference and reply.difference.left_out >= 0 for reply in replies)
    assert replies[0].touches_hot_region is not None
    assert replies[0].touches_hot_region.startswith("yes")
    assert [reply.machine_code is None for reply in replies] == [False] + [True] * (
        len(replies) - 1
    )
    assert replies[0].machine_code is not None and "->" in replies[0].machine_code.instructions
    same = ask(bench, variant_id, "difference", other=variant_id)
    assert same.touches_hot_region is not None and same.touches_hot_region.startswith("no")
    assert same.difference is not None and not same.difference.changed
    assert same.machine_code is not None and same.machine_code.same_order
    assert not same.machine_code.opcodes
    assert "no region differs" in same.advice


@needs_cuda
def test_a_profile_says_which_region_a_candidate_ought_to_touch(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The samples lie at the multiplications of a product, the change in its store."""
    variant_id = baseline(bench, "cuda_sgemm/spec.json")
    assert "by work, no time" in (ask(bench, variant_id).hot_region or "")
    (code,) = code_of_variant(bench, variant_id, None, None)
    machine = [(e.offset, code.by_ptx_line.get(e.ptx_line or 0)) for e in code.sass]
    by_phase = {effect(above.opcode).phase.value: at for at, above in machine if above}
    counted = [
        Instruction(offset=by_phase[phase], counters={SAMPLES: samples})
        for phase, samples in (("compute", 62.0), ("global_load", 38.0))
    ]
    profile = run(launch({TIME: 100}, kernel=code.entry, instructions=tuple(counted)))
    keep_profile(bench, variant_id, profile, monkeypatch)
    blamed = ask(bench, variant_id).hot_region
    assert blamed is not None and blamed.endswith("(62 % of samples)")
    name = blamed.split()[0]
    region = ask(bench, variant_id, "region", name=name).region
    assert region is not None and region.region.what == "compute"

    source = bench.evaluator.variant(variant_id).variant.source
    stored = next(line for line in source.splitlines() if "= sum" in line and "[" in line)
    other = changed(
        bench, variant_id, source=source.replace(stored, stored.replace("sum", "2 * sum"))
    )
    told = ask(bench, variant_id, "difference", other=other)
    assert told.hot_region == blamed
    assert told.touches_hot_region is not None and told.touches_hot_region.startswith("no:")
    tile = changed(bench, variant_id, parameters={"TILE": 32})
    told = ask(bench, variant_id, "difference", other=tile)
    assert told.touches_hot_region is not None and told.touches_hot_region.startswith("yes:")


@needs_cuda
def test_what_a_kernel_does_not_have_is_refused_with_what_it_has(bench: Workbench) -> None:
    variant_id = baseline(bench, "cuda_scale/spec.json")
    with pytest.raises(SpecError, match="Valid: R1 to R"):
        ask(bench, variant_id, "region", name="R99")
    with pytest.raises(SpecError, match="Valid: S1 to S"):
        ask(bench, variant_id, "stage", name="R1")
    spec = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id).spec
    (hidden,) = (w.name for w in spec.workloads if w.held_out)
    with pytest.raises(SpecError, match=f"no workload `{hidden}`") as refused:
        ask(bench, variant_id, workload=hidden)
    assert hidden not in refused.value.valid


@needs_cuda
def test_ptx_that_was_damaged_on_disk_is_refused_with_the_next_step(bench: Workbench) -> None:
    variant_id = baseline(bench, "cuda_vector_add/spec.json")
    kept = bench.store.require_record("artifacts", variant_id, ArtifactRecord).artifact
    (module,) = {module_name(m) for m in kept.modules if m.kind == "ptx"}
    file = bench.outdir / "modules" / module
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    try:
        with pytest.raises(SpecError, match="Next: build the variant again"):
            ask(bench, variant_id)
    finally:
        file.write_bytes(whole)


def test_host_code_has_no_regions(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as host:
        variant_id = baseline(host, "spec.json")
        with pytest.raises(SpecError, match=r"host C\+\+.*\n?.*Next: inspect"):
            ask(host, variant_id)


@pytest.mark.parametrize(
    "given",
    [
        {"view": "region"},
        {"view": "difference"},
        {"name": "R1"},
        {"view": "stage", "name": "S1", "other": "v1"},
        {"offset": 3},
    ],
)
def test_a_view_names_its_subject_and_nothing_else(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RegionDagArguments(variant_id="v", **given)
