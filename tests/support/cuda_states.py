"""States of CUDA kernels, for the tests of moves."""

from __future__ import annotations

import re
from typing import Any

from cuda_moves import array, cuda_state, scalar

from kernelwright.search.moves import State

N: dict[str, Any] = {"n": {"min": 1, "max": 1 << 20}}
ROWS: dict[str, Any] = {"rows": {"min": 1, "max": 4096}, "cols": {"min": 1, "max": 4096}}
FLAT = {"grid": ["cdiv(n, 64)"], "block": [64]}


def scale(body: str, symbols: dict[str, Any] = N, **x: Any) -> State:
    source = (
        'extern "C" __global__ void scale(const float* x, float* y, float a, int n) {\n'
        + body
        + "}\n"
    )
    arguments = [
        array("x", "input", "n", **x),
        array("y", "output", "n"),
        scalar("a", "float32", 3.0),
        scalar("n"),
    ]
    return cuda_state(source, "scale", arguments, FLAT, symbols)


def memory(ptx: str) -> list[str]:
    """Loads and stores of global and local memory, with their widths."""
    return sorted(re.findall(r"(?:ld|st)\.(?:global|local)(?:\.nc)?(?:\.v\d)?(?=\.)", ptx))


INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
