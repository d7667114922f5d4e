"""Vectorised elementwise CUDA kernels: before and after, what is refused, and equal results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, reason, scalar
from cuda_states import INDEX, ROWS, memory, scale
from tiers import cases

from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE

GUARDED = """\
    // one element a thread
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i];  // the work
    }
"""
SPELLINGS = {
    "a guard around": GUARDED,
    "a guard that returns": """\
    const int idx = threadIdx.x + blockDim.x * blockIdx.x;
    if (idx >= n) return;
    float v = x[idx];
    y[idx] = v * a;
""",
    "the bound first, no braces": """\
    int tid = threadIdx.x;
    int i = tid + blockIdx.x * blockDim.x;
    if (n > i) y[i] = a * x[i];
""",
    "a wide index": """\
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = a * x[i]; }
""",
    "a grid-stride loop": """\
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        y[i] = a * x[i];
    }
""",
    "several items, a block apart": """\
    int first = blockIdx.x * 64 * 4 + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = first + k * 64;
        if (i < n) y[i] = a * x[i];
    }
""",
    "several items side by side": """\
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int item = 0; item < 3; ++item) {
        const int i = t * 3 + item;
        if (i < n) { y[i] = a * x[i]; }
    }
""",
    "both branches store": """\
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) {
        if (x[i] > 0.0f) y[i] = x[i] * a;
        else y[i] = a * x[i];
    }
""",
    "stored and changed": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i];
        y[i] *= a;
    }
""",
}


@cases(
    "how",
    SPELLINGS,
    why="further spellings, run beside each other",
)
def test_a_vectorised_kernel_computes_the_same_however_it_was_spelled(
    lab: PretendedLab, how: str
) -> None:
    state = scale(SPELLINGS[how])
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(n).astype(np.float32) for n in (1, 4, 1001)]
    candidate = candidates(VECTORIZE, state)[len(how) % 3]
    found = lab.outputs(after(state, candidate), *(({"n": x.size}, {"x": x}) for x in inputs))
    for x, outputs in zip(inputs, found, strict=True):
        assert np.array_equal(outputs["y"], np.float32(3) * x), candidate.source


HALF = """\
#include <cuda_fp16.h>

extern "C" __global__ void add(const __half* x, const float* b, __half* y, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        int i = row * cols + col;
        y[i] = __float2half(__half2float(x[i]) + b[col]);
    }
}
"""


def test_halves_move_as_bits_and_rows_of_whole_vectors_need_no_tail(tmp_path: Path) -> None:
    arguments = [
        array("x", "input", "rows", "cols", dtype="float16"),
        array("b", "input", "cols"),
        array("y", "output", "rows", "cols", dtype="float16"),
        scalar("rows"),
        scalar("cols"),
    ]
    symbols = {"rows": {"max": 4096}, "cols": {"max": 4096, "multiple_of": 8}}
    launch = {"grid": ["cdiv(cols, 32)", "cdiv(rows, 8)"], "block": [32, 8]}
    state = cuda_state(HALF, "add", arguments, launch, symbols)
    first = candidates(VECTORIZE, state)[0]
    assert first.detail == "x, b, y: 1 x 4 elements a thread"
    assert first.source is not None and "left" not in first.source
    ptx = compiles(after(state, first), tmp_path)
    assert memory(ptx) == ["ld.global.v2", "ld.global.v4", "st.global.v4"]


def test_eight_halves_are_sixteen_bytes(tmp_path: Path) -> None:
    source = HALF.replace("const float* b", "const __half* b").replace(
        "b[col]", "__half2float(b[col])"
    )
    names = [("x", "input"), ("b", "input"), ("y", "output")]
    arguments = [array(n, r, "rows", "cols", dtype="float16") for n, r in names]
    symbols = {"rows": {"max": 4096}, "cols": {"max": 4096, "multiple_of": 8}}
    launch = {"grid": ["cdiv(cols, 32)", "cdiv(rows, 8)"], "block": [32, 8]}
    state = cuda_state(source, "add", [*arguments, scalar("rows"), scalar("cols")], launch, symbols)
    first = candidates(VECTORIZE, state)[0]
    assert first.detail == "x, b, y: 1 x 8 elements a thread"
    assert memory(compiles(after(state, first), tmp_path)) == ["ld.global.v4"] * 2 + [
        "st.global.v4"
    ]


WRAPPED = """\
extern "C" __global__ void bias(const float* x, const float* b, float* y, int rows, int cols) {
    // the number of the element
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        // the bias of its column
        y[i] = x[i] + b[i % cols];
    }
}
"""
WRAPPED_AFTER = """\
extern "C" __global__ void bias(const float* x, const float* b, float* y, int rows, int cols) {
    // the number of the element
    constexpr unsigned kUnroll = 2;  // vectors of 4 elements a thread
    const unsigned count = rows * cols;
    for (unsigned start = (blockIdx.x * blockDim.x * kUnroll + threadIdx.x) * 4;
         start < count;
         start += gridDim.x * blockDim.x * kUnroll * 4) {
        alignas(16) float x_lanes[kUnroll][4];
        alignas(16) float b_lanes[kUnroll][4];
        alignas(16) float y_lanes[kUnroll][4];
#pragma unroll
        for (unsigned k = 0; k < kUnroll; ++k) {
            const unsigned first = start + k * blockDim.x * 4;
            if (first + 4 <= count) {
                *reinterpret_cast<float4*>(x_lanes[k]) = *reinterpret_cast<const float4*>(x + first);
                if (cols % 4 == 0) {
                    *reinterpret_cast<float4*>(b_lanes[k]) = *reinterpret_cast<const float4*>(b + first % cols);
                } else {
#pragma unroll
                    for (int lane = 0; lane < 4; ++lane)
                        b_lanes[k][lane] = b[(first + lane) % cols];
                }
            }
        }
#pragma unroll
        for (unsigned k = 0; k < kUnroll; ++k) {
            const unsigned first = start + k * blockDim.x * 4;
            if (first + 4 <= count) {
#pragma unroll
                for (int lane = 0; lane < 4; ++lane) {
                    // the bias of its column
                    y_lanes[k][lane] = x_lanes[k][lane] + b_lanes[k][lane];
                }
                *reinterpret_cast<float4*>(y + first) = *reinterpret_cast<const float4*>(y_lanes[k]);
            } else {
                for (unsigned left = first; left < count && left < first + 4; ++left) {
                    const int i = left;
                    // the bias of its column
                    y[i] = x[i] + b[i % cols];
                }
            }
        }
    }
}
"""  # noqa: E501


def wrapped(**cols: int) -> State:
    arguments = [
        array("x", "input", "rows", "cols"),
        array("b", "input", "cols"),
        array("y", "output", "rows", "cols"),
        scalar("rows"),
        scalar("cols"),
    ]
    launch = {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}
    return cuda_state(WRAPPED, "bias", arguments, launch, ROWS | {"cols": ROWS["cols"] | cols})


def test_vectors_before_and_after() -> None:
    second = candidates(VECTORIZE, wrapped())[1]
    assert second.source == WRAPPED_AFTER
    assert second.plan == {
        "steps": [{"launch": "bias", "grid": ["cdiv(rows * cols, 2048)"], "block": [256]}]
    }


def test_rows_that_are_whole_vectors_by_contract_need_neither_tail_nor_test() -> None:
    source = candidates(VECTORIZE, wrapped(multiple_of=4))[0].source
    assert source is not None
    assert "else" not in source and "cols % 4" not in source


@pytest.mark.parametrize("vectors", [0, 2])
def test_a_row_that_is_added_to_every_row_is_wrapped_right(lab: PretendedLab, vectors: int) -> None:
    state = wrapped()
    rng = np.random.default_rng(2)
    runs = [
        ({"rows": r, "cols": c}, {n: rng.standard_normal(s, np.float32) for n, s in shapes.items()})
        for r, c in ((3, 8), (7, 3), (1, 1), (5, 77))
        for shapes in ({"x": (r, c), "b": (c,)},)
    ]
    found = lab.outputs(after(state, candidates(VECTORIZE, state)[vectors]), *runs)
    for (_, inputs), outputs in zip(runs, found, strict=True):
        assert np.array_equal(outputs["y"], (inputs["x"] + inputs["b"]).ravel())


def test_a_vectorised_kernel_is_not_vectorised_again() -> None:
    state = after(wrapped(), candidates(VECTORIZE, wrapped())[0])
    assert "no `int i = blockIdx.x * blockDim.x" in reason(VECTORIZE, state)


REFUSED = {
    "shared memory": (
        f"    __shared__ float s[64];\n{INDEX}    if (i < n) y[i] = s[threadIdx.x] = x[i];\n",
        "it uses shared memory",
    ),
    "a barrier": (
        f"{INDEX}    if (i < n) y[i] = x[i];\n    __syncthreads();\n",
        "its threads work together (`__syncthreads`)",
    ),
    "other numbers": (
        "    int i = blockIdx.x * 96 + threadIdx.x;\n    if (i < n) y[i] = x[i];\n",
        "no `int i = blockIdx.x * blockDim.x + threadIdx.x`",
    ),
    "no guard": (f"{INDEX}    y[i] = x[i];\n", "no `if (i < n)`"),
    "an end within": (
        f"{INDEX}    if (i < n) {{ if (x[i] < 0) return; y[i] = x[i]; }}\n",
        "left by return",
    ),
    "items that overlap": (
        "    int t = blockIdx.x * 64 + threadIdx.x;\n"
        "    for (int k = 0; k < 4; ++k) { int i = t + k; if (i < n) y[i] = x[i]; }\n",
        "no `if (t < n)`",
    ),
    "its item": (
        "    int t = blockIdx.x * 256 + threadIdx.x;\n"
        "    for (int k = 0; k < 4; ++k) { int i = t + k * 64; if (i < n) y[i] = x[i] + k; }\n",
        "uses the number of its thread or item",
    ),
    "a loop": (
        f"{INDEX}    if (i < n) {{ for (int k = 0; k < i; ++k) y[i] = x[k]; }}\n",
        "the work on one element is a loop",
    ),
    "its own number": (
        f"{INDEX}    if (i < n) y[i] = x[i] + threadIdx.x;\n",
        "uses threadIdx.x itself",
    ),
    "shifted": (
        f"{INDEX}    if (i < n) y[n - 1 - i] = x[2 * i / 2];\n",
        "no array is read or written at `i`",
    ),
    "a bound below zero": (f"{INDEX}    if (i < n - 5) y[i] = x[i];\n", "no product of sizes"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_elementwise_kernel_is_refused_with_what_was_looked_for(what: str) -> None:
    body, told = REFUSED[what]
    assert told in reason(VECTORIZE, scale(body))


def test_without_alignment_there_are_no_vectors() -> None:
    state = scale(GUARDED, align=4)
    found = candidates(VECTORIZE, state)
    assert all(c.detail.startswith("y: ") for c in found)
