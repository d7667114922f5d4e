"""Machine code of a variant as what takes a recorded kernel's place."""

from __future__ import annotations

import shutil

import pytest
from tiers import further

from kernelwright.runners.errors import SpecError
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.programs.replacements import replacement_of_variant

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")


def test_a_variant_is_put_in_with_the_launch_of_its_own_workload(bench: Workbench) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec_path="cuda_scale/spec.json"))
    names = [w.name for w in bench.evaluator.kernel(opened.kernel_id).spec.workloads]
    found = replacement_of_variant(bench, opened.baseline, names[0])
    assert found.cubin.read_bytes()[:4] == b"\x7fELF"
    assert (found.block[1:], found.shared) == ((1, 1), 0)
    assert found.entry.encode() in found.cubin.read_bytes()
    with pytest.raises(SpecError, match="not of a kernel that was opened from"):
        replacement_of_variant(bench, opened.baseline, "f9c9")


@further(
    "tests/tools/test_ptx_for_source_span.py::test_host_code_has_no_code_of_a_gpu",
    why="the same refusal by who asks for machine code",
)
def test_host_code_takes_no_kernels_place(bench: Workbench) -> None:
    opened = open_kernel(bench, OpenKernelArguments(spec_path="softmax/plain.json"))
    with pytest.raises(SpecError, match="no machine code of a GPU"):
        replacement_of_variant(bench, opened.baseline, "f0c0")
