"""Folds across rows written anew: many threads a column."""

from __future__ import annotations

import pytest
from cuda_moves import PretendedLab, candidates, reason
from scheduled import A_COLUMN, A_ROW, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves.cuda.schedules.column_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_C = "int c = blockIdx.x * blockDim.x + threadIdx.x; if (c >= cols) return;"
_K = "for (int k = 0; k < rows; ++k)"
SPELLED = {
    "means of columns": f"{{ {_C} float s = 0; {_K} s += x[k * cols + c]; y[c] = s / rows; }}",
    "two sums that start from something": (
        f"{{ {_C} float s = 1.5f, q = 0; const float* p = x + c;"
        f" {_K} {{ s += *p; q += *p * *p; p += cols; }} y[c] = q - s * s; }}"
    ),
    "the greatest of a column": (
        f"{{ {_C} float m = x[c]; for (int k = 1; k < rows; ++k)"
        " m = fmaxf(m, x[k * cols + c]); y[c] = m; }"
    ),
}


@cases(
    "spelling",
    SPELLED,
    why="further kernels, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    state = matrix_state(SPELLED[spelling], A_COLUMN, ("cols",))
    shapes = [{"rows": 37, "cols": 45}, {"rows": 2, "cols": 64}, {"rows": 100, "cols": 3}]
    written_beside(lab, MOVE, state, shapes, near=1e-3)


def test_rows_are_no_columns() -> None:
    row = (
        "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; float s = 0;"
        " for (int j = 0; j < cols; ++j) s += x[r * cols + j]; y[r] = s; }"
    )
    assert "no neighbouring elements" in reason(MOVE, matrix_state(row, A_ROW, ("rows",)))


FEW = {"rows": {"min": 2, "max": 1 << 18}, "cols": {"max": 96}}
LONG = {
    **SPELLED,
    "least and greatest by a block a column, joined over shared memory": (
        "{ __shared__ float a[64], b[64]; int c = blockIdx.x; float lo = 3e38f, hi = x[c];"
        " for (int k = threadIdx.x; k < rows; k += 64) { float v = x[k * cols + c];"
        " lo = fminf(lo, v); hi = fmaxf(hi, v); } a[threadIdx.x] = lo; b[threadIdx.x] = hi;"
        " __syncthreads(); for (int s = 32; s > 0; s /= 2) { if (threadIdx.x < s) {"
        " a[threadIdx.x] = fminf(a[threadIdx.x], a[threadIdx.x + s]);"
        " b[threadIdx.x] = fmaxf(b[threadIdx.x], b[threadIdx.x + s]); } __syncthreads(); }"
        " if (threadIdx.x == 0) y[c] = b[0] - a[0]; }"
    ),
}


@cases(
    "spelling",
    LONG,
    why="further kernels, each run beside its original",
)
def test_several_blocks_share_few_long_columns(spelling: str, lab: PretendedLab) -> None:
    a_block = {"grid": ["cols"], "block": [64]}
    launch = a_block if "blockIdx.x;" in LONG[spelling] else A_COLUMN
    state = matrix_state(LONG[spelling], launch, ("cols",), symbols=FEW)
    shapes = [{"rows": 2, "cols": 3}, {"rows": 301, "cols": 45}]
    shared, alone = written_beside(lab, MOVE, state, shapes, near=1e-3)
    assert shared.plan is not None and alone.plan is not None
    assert [s["launch"] for s in shared.plan["steps"]] == ["f", "f_joined"]
    assert [s["launch"] for s in alone.plan["steps"]] == ["f"]


def test_columns_enough_for_a_device_are_a_block_each() -> None:
    many = {"rows": {"max": 4096}, "cols": {"min": 32768, "max": 65536}}
    state = matrix_state(SPELLED["means of columns"], A_COLUMN, ("cols",), symbols=many)
    assert [each.plan["steps"][0]["launch"] for each in candidates(MOVE, state) if each.plan] == [
        "f"
    ]


def test_a_thread_beyond_the_places_reads_nothing_and_one_loop_serves_all_folds() -> None:
    state = matrix_state(
        "{ int c = blockIdx.x * blockDim.x + threadIdx.x; if (c >= cols) return; float lo = x[c],"
        " hi = x[c]; for (int k = 1; k < rows; ++k) { float v = x[k * cols + c];"
        " lo = fminf(lo, v); hi = fmaxf(hi, v); } y[c] = hi - lo; }",
        A_COLUMN,
        ("cols",),
    )
    written = candidates(MOVE, state)[-1]
    assert written.source is not None
    assert written.source.count("inside ? x[") == 2
    assert written.source.count("+= COLUMN_THREADS) {") == 1
