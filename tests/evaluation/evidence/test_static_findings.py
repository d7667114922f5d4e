"""What compile_variant tells of a kernel that was never run, on a machine without a GPU."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from kernels import tiny_kernel, with_known_peaks

from kernelwright.runners.plans.plan import module_name
from kernelwright.search.session.workbench import Workbench
from kernelwright.skills.catalogue import catalogue
from kernelwright.store.records import ArtifactRecord
from kernelwright.tools.compile_variant import (
    CompiledVariant,
    CompileVariantArguments,
    compile_variant,
)
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel

EXAMPLES = Path(__file__).parents[3] / "examples"
TRITON = bool(find_spec("triton") and find_spec("torch"))
needs_triton = pytest.mark.skipif(not TRITON, reason="triton and torch are not installed")
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
HELD = """float v[64];
        #pragma unroll
        for (int i = 0; i < 64; ++i) v[i] = A[i * K + k];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 64; ++i) sum += v[i] * v[i ^ 21];"""
"""64 values that are alive across a barrier"""


def built(bench: Workbench, spec: str, **change: Any) -> CompiledVariant:
    opened = open_kernel(bench, OpenKernelArguments(spec_path=spec))
    arguments = CompileVariantArguments(kernel_id=opened.kernel_id, base="baseline", **change)
    found = compile_variant(bench, arguments)
    assert found.ok, found.diagnostics
    return found


def rules(found: CompiledVariant) -> list[str]:
    return [line.partition(" ")[0] for line in found.findings]


@needs_cuda
def test_registers_that_do_not_suffice_are_told_with_the_page_to_read(bench: Workbench) -> None:
    few = {"compiler": "nvcc", "flags": ["--maxrregcount=32"]}
    plain = (EXAMPLES / "cuda_sgemm" / "sgemm.cu").read_text(encoding="utf-8")
    held = plain.replace("__syncthreads();\n        for", f"{HELD}\n        for")
    found = built(bench, "cuda_sgemm/spec.json", options=few, source=held)
    assert found.kernels[0].spill_bytes
    assert rules(found)[0] == "register_spill"
    assert found.findings[0].endswith("skill register-spill") and "static" in found.findings[0]
    assert "register_spill" not in rules(built(bench, "cuda_sgemm/spec.json"))


@needs_triton
def test_pages_that_findings_name_exist(bench: Workbench) -> None:
    found = built(bench, "triton_reduction/spec.json", parameters={"num_warps": 2})
    pages = {line.rpartition("skill ")[2] for line in found.findings}
    assert pages and pages <= {each.id for each in catalogue()}


@needs_cuda
def test_ptx_that_cannot_be_read_costs_no_build(bench: Workbench) -> None:
    variant_id = built(bench, "cuda_vector_add/spec.json").variant_id
    kept = bench.store.require_record("artifacts", variant_id, ArtifactRecord).artifact
    (module,) = {module_name(m) for m in kept.modules if m.kind == "ptx"}
    file = bench.outdir / "modules" / module
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    try:
        found = built(bench, "cuda_vector_add/spec.json")
    finally:
        file.write_bytes(whole)
    assert any("cannot be read" in line for line in found.findings)


def test_host_code_has_no_findings_of_a_gpu(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as host:
        assert built(host, "spec.json").findings == ()
