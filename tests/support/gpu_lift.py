"""A small CUDA kernel for tests on a GPU, and ways to spoil it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import Candidate
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.variants import variant_from
from kernelwright.store.records import VariantRecord

SOURCE = """\
#ifndef REPEAT
#define REPEAT 12
#endif

extern "C" __global__ void lift(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int r = 0; r < REPEAT; ++r) {
        volatile const float* kept = x;
        y[i] = 2.0f * kept[i] + 1.0f;
    }
}
"""
START = "    if (i >= n) return;\n"
GRID = "cdiv(n, 256)"


def spec(**changes: Any) -> dict[str, Any]:
    """The spec of `lift` as JSON data, some top-level fields replaced."""
    return {
        "name": "lift",
        "kernel": {
            "kernel_type": "cuda",
            "source_code": SOURCE,
            "metadata": {"kernel_name": "lift"},
            "launch": {"grid": [GRID], "block": [256]},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ],
            "bytes": "8 * n",
            "flops": "2 * n",
        },
        "symbols": {"n": {"min": 1, "max": 1 << 26}},
        "workloads": [
            {"name": "usual", "symbols": {"n": 1 << 20}},
            {"name": "hidden", "symbols": {"n": 1000003}, "held_out": True},
        ],
        "parameters": {"REPEAT": {"values": [12, 6, 3, 1]}},
        "reference": {"source_code": "def reference(x, n):\n    return 2 * x + 1\n"},
        **changes,
    }


def load(folder: Path, **changes: Any) -> LoadedKernel:
    """The kernel, loaded from data; relative paths start at `folder`."""
    return load_data(spec(**changes), folder, Roots([folder]))


def candidate(bench: Workbench, kernel_id: str, **parts: Any) -> VariantRecord:
    """What a candidate makes of the baseline."""
    kernel = bench.evaluator.kernel(kernel_id)
    base = bench.evaluator.variant(kernel.baseline).variant
    return VariantRecord(variant=variant_from(kernel, base, Candidate(method="by_hand", **parts)))


def spoiled(line: str) -> str:
    """The source with a line more at the start of its body."""
    return SOURCE.replace(START, f"    {line}\n{START}")
