"""GPU kernels where no GPU is: built, analysed and checked for their logic, never timed."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tiers import cases

from kernelwright.evaluation.evidence.built_facts import built_facts
from kernelwright.evaluation.rig.gpus import device_missing
from kernelwright.runners.device.cuda_driver import driver
from kernelwright.runners.device.presence.probe import probe
from kernelwright.runners.errors import BaselineRefused, DeviceMissing
from kernelwright.runners.loading.files import load_data
from kernelwright.runners.model import Comparison, Ending, Evaluation
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.search.outdir.kernel_files import KernelFiles
from kernelwright.search.session.optimize import Opened
from kernelwright.search.session.replay import recorded
from kernelwright.search.session.workbench import Workbench
from kernelwright.server.live import lines_of
from kernelwright.store.evaluations import put_evaluation
from kernelwright.tools.brief.assemble import brief_of
from kernelwright.tools.compile_variant import (
    CompiledVariant,
    CompileVariantArguments,
    compile_variant,
)
from kernelwright.tools.export_variant import ExportVariantArguments, export_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.time_variant import TimeVariantArguments, time_variant

EXAMPLES = Path(__file__).parents[2] / "examples"


def kernel_type(spec: Path) -> str:
    return json.loads(spec.read_text(encoding="utf-8"))["kernel"]["kernel_type"]


TRITON = bool(find_spec("triton") and find_spec("torch"))
needs_triton = pytest.mark.skipif(not TRITON, reason="triton and torch are not installed")
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
SPECS = [
    path.relative_to(EXAMPLES)
    for path in sorted(EXAMPLES.glob("*/*.json"))
    if kernel_type(path) != "cpp"
]


@pytest.fixture(scope="module")
def bench(bench_of_examples: Workbench) -> Workbench:
    if bench_of_examples.gpus.present():
        pytest.skip("a GPU is here: tests/gpu go further")
    return bench_of_examples


@cases(
    "spec",
    SPECS,
    ids=str,
    kinds=lambda spec: [kernel_type(EXAMPLES / spec)],
    why="further examples of a language",
)
def test_an_example_is_built_with_facts_and_not_timed(bench: Workbench, spec: Path) -> None:
    triton = kernel_type(EXAMPLES / spec) == "triton"
    if triton and not TRITON:
        pytest.skip("triton and torch are not installed")
    if not triton and shutil.which("nvcc") is None:
        pytest.skip("no CUDA compiler here")
    opened = open_kernel(bench, OpenKernelArguments(spec_path=str(spec)))
    assert opened.tier == "device" and opened.workloads[0].baseline_ms is None
    assert not any("search_step" in each for each in opened.next)
    name, choice = next(iter(opened.parameters.items()))
    other = next(value for value in choice.values if value != choice.now)
    built = compile_variant(
        bench, CompileVariantArguments(kernel_id=opened.kernel_id, parameters={name: other})
    )
    assert built.ok, built.diagnostics
    assert built.kernels and all((k.registers or 0) > 0 for k in built.kernels)
    assert built.occupancy
    shapes = {label for kernel in built.kernels for label in kernel.shapes}
    assert shapes == {"odd", *(w.workload for w in opened.workloads)}
    assert (built.logic or "").startswith("passed") is triton
    with pytest.raises(DeviceMissing) as error:
        time_variant(bench, TimeVariantArguments(variant_id=built.variant_id))
    assert "cannot be run or timed here" in error.value.message
    assert "on a machine with an NVIDIA H100" in error.value.next_step
    assert "where its GPU is" in built.advice and bench.gpus.missing() in opened.notes[0]


@needs_triton
def test_the_command_line_tells_facts_and_a_wrong_kernel_of_an_opening(bench: Workbench) -> None:
    """Where no GPU is nothing else would: the search that follows only says that there is none."""
    data = json.loads((EXAMPLES / "triton_vector_add" / "spec.json").read_text(encoding="utf-8"))
    source = (EXAMPLES / "triton_vector_add" / "vector_add.py").read_text(encoding="utf-8")
    wrong = source.replace("mask=inside) + ", "mask=inside) + 0.1 + ")
    assert wrong != source
    data["kernel"] = {k: v for k, v in data["kernel"].items() if k != "source_path"}
    data["kernel"]["source_code"] = wrong
    loaded = load_data(data, EXAMPLES / "triton_vector_add", bench.roots)
    kernel = bench.evaluator.open(loaded)
    head, *told = lines_of(Opened(kernel, False, built_facts(bench, kernel)))
    assert head.endswith("baseline not timed")
    assert [line for line in told if "logic check failed: at " in line and "logic only" in line]
    assert [line for line in told if " registers and no spills a thread" in line]
    assert [line for line in told if "of its warps, limited by" in line]


def test_the_reason_for_no_gpu_is_one_short_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver.binding.cache_clear()
    monkeypatch.setattr(driver, "LIBRARY", "libcuda-that-is-not-here.so")
    assert probe().why_none == "no NVIDIA driver on this machine"
    driver.binding.cache_clear()


def test_a_kernel_for_a_gpu_that_is_not_this_one_says_both_names() -> None:
    a100 = next(facts for facts, _ in PROFILES if "A100" in facts.name)
    here = PROFILES[0][0].model_copy(update={"uuid": "GPU-1"})
    said = device_missing(a100, "", [here]).message
    assert said.endswith(
        "NVIDIA A100-SXM4-80GB (sm_80), and this machine has NVIDIA H100 80GB HBM3"
    )


TILED = """
import triton
import triton.language as tl

@triton.jit
def vector_add(x, y, out, most, TILE: tl.constexpr = 64):
    at = (2 * tl.program_id(0) + tl.program_id(1)) * TILE + tl.arange(0, TILE)
    sums = tl.load(x + at, mask=at < most) + tl.load(y + at, mask=at < most)
    tl.store(out + at, sums, mask=at < most)
"""


@needs_triton
def test_a_triton_variant_keeps_its_own_launch_and_an_export_tells_it(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "triton_vector_add", tmp_path / "add")
    plan = {"grid": ["cdiv(n, 2 * TILE)", 2], "constexprs": {"most": "n"}}
    with Workbench(tmp_path / "out", [tmp_path / "add"]) as bench:
        if bench.gpus.present():
            pytest.skip("a GPU is here: tests/gpu go further")
        opened = open_kernel(bench, OpenKernelArguments(spec_path="spec.json"))
        wanted = CompileVariantArguments(kernel_id=opened.kernel_id, source=TILED, plan=plan)
        built = compile_variant(bench, wanted)
        assert built.ok, built.diagnostics
        assert (built.logic or "").startswith("passed")
        assert built.changed.endswith("launch (grid cdiv(n, 2 * TILE) x 2, constexprs most=n)")

        standing = [s for s in brief_of(bench, built.variant_id).sections if s.name == "standing"]
        assert f"by its plan: {json.dumps(plan)}" in standing[0].text

        _told_to_be_faster(bench, opened.kernel_id, built.variant_id)
        files = KernelFiles(bench.store, bench.outdir).write(opened.kernel_id)
        again = recorded(files / "variants" / built.variant_id).variant
        assert again.plan == plan and again.variant_id == built.variant_id

        exported = export_variant(
            bench,
            ExportVariantArguments(variant_id=built.variant_id, confirm=False, force=True),
        )
    assert exported.plan == plan and "the same machine code" in exported.verified
    words = "its launch is another one: grid cdiv(n, 2 * TILE) x 2, constexprs most=n"
    assert words in exported.advice


def _told_to_be_faster(bench: Workbench, kernel_id: str, variant_id: str) -> None:
    """What only a GPU could find."""
    timed = Comparison(
        candidate=variant_id, ratios=(), workloads=(), resolution=0.01, samples=0, seconds=0.0
    )
    found = Evaluation(
        evaluation_id=f"{variant_id}/0001",
        variant_id=variant_id,
        kernel_id=kernel_id,
        ending=Ending.faster,
        tier="device",
        message="faster",
        comparison=timed,
        speedup=2.0,
    )
    with bench.store.transaction() as writer:
        put_evaluation(writer, found)


@needs_cuda
def test_a_plan_of_ones_own_is_built_and_one_that_does_not_fit_says_why(bench: Workbench) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec_path="cuda_scale/spec.json"))

    def built(**plan: Any) -> CompiledVariant:
        wanted = CompileVariantArguments(kernel_id=opened.kernel_id, plan=plan)
        return compile_variant(bench, wanted)

    grid = ["cdiv(n, BLOCK * ITEMS_PER_THREAD)"]
    right = built(grid=grid, block=["BLOCK"], shared=1024)
    assert (
        right.ok
        and right.changed == "launch (shared 1024)"
        and right.kernels[0].dynamic_shared == 1024
    )
    wrong = built(grid=grid, block=["BLOCK"], args=["x", "n"])
    assert wrong.ending == "rejected" and "2 parameters for `scale`" in (wrong.diagnostics or "")


AUTOTUNED = """
import torch, triton
import triton.language as tl

@triton.autotune(
    [triton.Config({{"BLOCK": 512}}, num_warps=w) for w in ({warps})], key=["n"]
)
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, i < n), i < n)

def run(x, n):
    y = torch.empty_like(x)
    double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
"""


def autotuned(warps: str) -> dict[str, Any]:
    arrays = [
        {"name": name, "role": role, "dtype": "float32", "shape": ["n"]}
        for name, role in (("x", "input"), ("y", "output"))
    ]
    return {
        "name": "double",
        "kernel": {
            "kernel_type": "triton",
            "source_code": AUTOTUNED.format(warps=warps),
            "metadata": {"kernel_name": "run"},
        },
        "io": {
            "arguments": [
                *arrays,
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 1 << 20}},
        "workloads": [{"name": "main", "symbols": {"n": 4096}}],
        "reference": {"source_code": "def reference(x, n):\n    return 2 * x\n"},
    }


@needs_triton
def test_the_baseline_is_the_first_autotune_configuration_that_fits_the_gpu(
    bench: Workbench,
) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec=autotuned("64, 8, 4")))
    assert opened.parameters["num_warps"].now == 8
    assert any("does not fit that GPU" in note for note in opened.notes)
    with pytest.raises(BaselineRefused, match="out of resource: threads"):
        open_kernel(bench, OpenKernelArguments(spec=autotuned("64, 128")))
