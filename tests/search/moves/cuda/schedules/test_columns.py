"""Folds across rows written anew: many threads a column."""

from __future__ import annotations

import pytest
from cuda_moves import PretendedLab, reason
from scheduled import A_COLUMN, A_ROW, matrix_state, written_beside

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


@pytest.mark.parametrize("spelling", SPELLED)
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
