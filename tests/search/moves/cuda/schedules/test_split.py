"""Few long rows and whole arrays folded by all blocks: two launches, the same result each time."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_moves import PretendedLab, array, cuda_state, reason, scalar
from scheduled import A_ROW, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.split_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_I = "int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;"
_HEAD = 'extern "C" __global__ void f(const float* x, const float* w, TYPE* y, int n) '
MANY = {"grid": [8], "block": [64]}
ONE = {"grid": [1], "block": [64]}
SPELLED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "differences, squared, by a tree and atomic additions": (
        f"{{ __shared__ float t[64]; {_I} float s = 0; for (; i < n; i += step)"
        " { float d = x[i] - w[i]; s += d * d; } t[threadIdx.x] = s; __syncthreads();"
        " for (int k = 32; k > 0; k /= 2) { if (threadIdx.x < k) t[threadIdx.x] +="
        " t[threadIdx.x + k]; __syncthreads(); } if (threadIdx.x == 0) atomicAdd(y, t[0] / n); }",
        "float", MANY, "inout"),
    "a sum by warps": (
        f"{{ {_I} float s = 0; for (; i < n; i += step) s += x[i] * w[i]; for (int o = 16; o > 0;"
        " o /= 2) s += __shfl_down_sync(0xffffffffu, s, o); if (threadIdx.x % 32 == 0)"
        " atomicAdd(y, s); }", "float", MANY, "inout"),
    "the place of the least, by one thread": (
        "{ float m = x[0]; int at = 0; for (int k = 1; k < n; ++k) if (x[k] < m)"
        " { m = x[k]; at = k; } y[0] = at; }", "int", {"grid": [1], "block": [1]}, "output"),
    "the greatest, by one block": (
        "{ __shared__ float t[64]; float m = -3e38f; for (int k = threadIdx.x; k < n; k += 64)"
        " m = fmaxf(m, x[k]); t[threadIdx.x] = m; __syncthreads(); for (int k = 32; k > 0; k /= 2)"
        " { if (threadIdx.x < k) t[threadIdx.x] = fmaxf(t[threadIdx.x], t[threadIdx.x + k]);"
        " __syncthreads(); } if (threadIdx.x == 0) y[0] = 0.5f * t[0]; }", "float", ONE, "output"),
}  # fmt: skip


def array_state(body: str, dtype: str, launch: dict[str, Any], role: str) -> State:
    arguments = [
        array("x", "input", "n"),
        array("w", "input", "n"),
        array("y", role, 1, dtype={"float": "float32", "int": "int32"}[dtype]),
        scalar("n"),
    ]
    head = _HEAD.replace("TYPE", dtype)
    return cuda_state(head + body, "f", arguments, launch, {"n": {"max": 1 << 22}})


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    state = array_state(*SPELLED[spelling])
    (found,) = written_beside(lab, MOVE, state, [{"n": 1000}, {"n": 37}], near=1e-4)
    assert found.plan is not None
    assert [step.get("launch") for step in found.plan["steps"]] == ["f", "f_joined"]


def test_rows_that_fill_the_device_are_left_to_a_block_each() -> None:
    row = (
        "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; float s = 0;"
        " for (int j = 0; j < cols; ++j) s += x[r * cols + j]; y[r] = s; }"
    )
    assert "rows enough for all blocks" in reason(MOVE, matrix_state(row, A_ROW, ("rows",)))


def test_each_of_few_rows_is_folded_by_several_blocks(lab: PretendedLab) -> None:
    row = (
        "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; float s = 1.0f;"
        " for (int j = 0; j < cols; ++j) s *= x[r * cols + j]; y[r] = s + r; }"
    )
    symbols = {"rows": {"max": 8}, "cols": {"max": 65536}}
    state = matrix_state(row, A_ROW, ("rows",), symbols=symbols)
    written_beside(lab, MOVE, state, [{"rows": 3, "cols": 514}, {"rows": 2, "cols": 33}])
