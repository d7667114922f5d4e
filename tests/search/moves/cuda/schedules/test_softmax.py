"""Softmax and its kin in one pass with a running maximum: spellings, odd rows, infinities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, candidates, reason
from scheduled import A_ROW, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves.cuda.schedules.softmax_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_R = (
    "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
    " const float* v = x + r * cols;"
)
_J = "for (int j = 0; j < cols; ++j)"
SHAPES = [{"rows": 7, "cols": 136}, {"rows": 5, "cols": 37}, {"rows": 9, "cols": 1}]
ALL, ONE = ("rows", "cols"), ("rows",)
SPELLED: dict[str, tuple[str, Sequence[str]]] = {
    "three passes": (
        f"{{ {_R} float m = v[0], s = 0; {_J} m = fmaxf(m, v[j]); {_J} s += expf(v[j] - m);"
        f" {_J} y[r * cols + j] = expf(v[j] - m) / s; }}", ALL),
    "two passes, powers of two": (
        f"{{ {_R} float m = -INFINITY, s = 0; {_J} if (v[j] > m) m = v[j];"
        f" {_J} s += exp2f((v[j] - m) * 1.25f);"
        f" {_J} y[r * cols + j] = exp2f((v[j] - m) * 1.25f) / s; }}", ALL),
    "in one run already, of scaled elements": (
        f"{{ {_R} float m = -INFINITY, s = 0; {_J} {{ float e = 0.5f * v[j], n = fmaxf(m, e);"
        " s = s * __expf(m - n) + __expf(e - n); m = n; }"
        f" {_J} y[r * cols + j] = __expf(0.5f * v[j] - m) / s; }}", ALL),
    "its logarithm": (
        f"{{ {_R} float m = -1e30f, s = 0; {_J} m = fmaxf(m, v[j]); {_J} s += expf(v[j] - m);"
        " y[r] = logf(s) + m; }", ONE),
}  # fmt: skip


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_one_pass_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    body, to = SPELLED[spelling]
    found = written_beside(lab, MOVE, matrix_state(body, A_ROW, to), SHAPES, near=2e-5)
    for each in found:
        assert "row_max" not in each.source and "expf(" not in each.source


def test_rows_with_infinities_end_as_two_passes_end_them(lab: PretendedLab) -> None:
    state = matrix_state(SPELLED["two passes, powers of two"][0], A_ROW, ALL)
    rows, cols = 5, 70
    x = np.random.default_rng(4).standard_normal((rows, cols)).astype(np.float32)
    x[0, :40] = x[1, 5] = -np.inf  # as masks do
    x[2] = -np.inf
    x[3, 60] = np.inf
    x[4, 7] = np.nan
    run = {"rows": rows, "cols": cols}, {"x": x}
    (wanted,) = lab.outputs(state, run)
    for candidate in candidates(MOVE, state):
        (found,) = lab.outputs(after(state, candidate), run)
        np.testing.assert_allclose(found["y"], wanted["y"], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "sum_of",
    ["expf(v[j])", "expf(v[j] - 2 * m)", "expf(m - v[j])", "v[j] - m", "expf((v[j] - m) * -2.0f)"],
)
def test_another_sum_is_no_softmax_and_that_is_told(sum_of: str) -> None:
    body = f"{{ {_R} float m = v[0], s = 0; {_J} m = fmaxf(m, v[j]); {_J} s += {sum_of};"
    state = matrix_state(body + " y[r] = s + m; }", A_ROW, ONE)
    assert "no sum of exponentials under their own maximum" in reason(MOVE, state)
