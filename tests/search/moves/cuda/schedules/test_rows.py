"""Rows written anew from what is folded along them: every spelling, every length."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cuda_moves import PretendedLab, array, cuda_state, reason, scalar
from scheduled import A_ROW, FLAT, SIZES, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import NotApplicable
from kernelwright.search.moves.cuda.schedules.row_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_R = (
    "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
    " const float* v = x + r * cols;"
)
_J = "for (int j = 0; j < cols; ++j)"
ROWS = ("rows",)
SHAPES = [{"rows": 7, "cols": 136}, {"rows": 5, "cols": 37}, {"rows": 9, "cols": 1}]
SPELLED = {
    "softmax through its output": (
        f"{{ {_R} float m = -1e30f, s = 0; {_J} if (v[j] > m) m = v[j];"
        f" {_J} {{ float e = expf(v[j] - m); y[r * cols + j] = e; s += e; }}"
        f" {_J} y[r * cols + j] /= s; }}", A_ROW, ("rows", "cols")),
    "softmax in one run": (
        f"{{ {_R} float m = -1e30f, s = 0; {_J} {{ float n = fmaxf(m, v[j]);"
        " s = s * expf(m - n) + expf(v[j] - n); m = n; }"
        f" {_J} y[r * cols + j] = expf(v[j] - m) / s; }}", A_ROW, ("rows", "cols")),
    "softmax by a thread an element": (
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y; if (i >= cols) return;"
        f" const float* v = x + r * cols; float m = v[0]; {_J} m = fmaxf(m, v[j]); float s = 0;"
        f" {_J} s += expf(v[j] - m); y[r * cols + i] = expf(v[i] - m) / s; }}",
        {"grid": ["cdiv(cols, 32)", "rows"], "block": [32]}, ("rows", "cols")),
    "a norm with two sums in one run": (
        f"{{ {_R} float s = 0, q = 0; {_J} {{ s += v[j]; q += v[j] * v[j]; }}"
        " float mean = s / cols, inv = rsqrtf(q / cols - mean * mean + 1e-5f);"
        f" {_J} y[r * cols + j] = (v[j] - mean) * inv * x[j] + x[j + cols]; }}", A_ROW,
        ("rows", "cols")),
    "the place of the greatest": (
        f"{{ {_R} float m = v[0]; int at = 0; for (int j = 1; j < cols; ++j)"
        " if (v[j] > m) { m = v[j]; at = j; } y[r] = at; }", A_ROW, ROWS),
    "the last place of the least": (
        f"{{ {_R} float m = v[0]; int at = 0; for (int j = 1; j < cols; ++j)"
        " if (v[j] <= m) { m = v[j]; at = j; } y[r] = at; }", A_ROW, ROWS),
    "sums that start from something": (
        f"{{ {_R} float s = 3.0f; {_J} s += v[j] * v[j]; y[r] = sqrtf(s); }}", A_ROW, ROWS),
    "the greatest of those behind the first": (
        f"{{ {_R} float m = 0.25f; for (int j = 1; j < cols; ++j) m = fmaxf(m, v[j]); y[r] = m; }}",
        A_ROW, ROWS),
}  # fmt: skip


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    body, launch, to = SPELLED[spelling]
    found = written_beside(lab, MOVE, matrix_state(body, launch, to), SHAPES, near=2e-5)
    assert all("__shfl_xor_sync" in each.source for each in found)


def test_rows_longer_than_those_of_the_workloads_are_read_again(lab: PretendedLab) -> None:
    body, launch, to = SPELLED["softmax in one run"]
    state = matrix_state(body, launch, to, symbols={"rows": {"max": 64}, "cols": {"max": 1 << 15}})
    workload = state.spec.workloads[0].model_copy(update={"symbols": {"rows": 64, "cols": 64}})
    spec = state.spec.model_copy(update={"workloads": (workload,)})
    (held, _) = written_beside(
        lab, MOVE, replace(state, spec=spec), [{"rows": 3, "cols": 64}, {"rows": 3, "cols": 200}]
    )
    assert "f_held<4>" in held.source
    assert "else f_row<4>" in held.source


def test_targets_are_read_once_a_row(lab: PretendedLab) -> None:
    source = (
        'extern "C" __global__ void f(const float* x, const int* t, float* y, int rows, int cols) '
        f"{{ {_R} float m = -1e30f, s = 0; {_J} m = fmaxf(m, v[j]); {_J} s += expf(v[j] - m);"
        " y[r] = logf(s) + m - v[t[r]]; }"
    )
    arguments = [
        array("x", "input", "rows", "cols"),
        array("t", "input", "rows", dtype="int32", init={"kind": "randint", "low": 0, "high": 1}),
        array("y", "output", "rows"),
        scalar("rows"),
        scalar("cols"),
    ]
    state = cuda_state(source, "f", arguments, A_ROW, SIZES)
    written_beside(lab, MOVE, state, SHAPES[:2])


def test_a_fold_that_hangs_on_the_turn_of_another_is_no_row_of_its_own(lab: PretendedLab) -> None:
    inner = "for (int k = 0; k < cols; ++k) s += x[(r * cols + j) * 2 * cols + k]"
    head = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) '
    arguments = [array("x", "input", "rows", "cols", "2 * cols"), array("y", "output", "rows")]
    source = f"{head}{{ {_R} float s = v[0]; {_J} {inner}; y[r] = s; }}"
    sizes = [scalar("rows"), scalar("cols")]
    state = cuda_state(source, "f", [*arguments, *sizes], A_ROW, SIZES)
    if isinstance(found := MOVE.propose(state), NotApplicable):
        assert "no row can be written" in found.reason
    else:
        written_beside(lab, MOVE, state, [{"rows": 9, "cols": 4}], most=1)


def test_what_has_no_fold_along_rows_is_told() -> None:
    flat = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * cols) y[i] = x[i];"
    assert "nothing is folded along rows" in reason(MOVE, matrix_state(f"{{ {flat} }}", FLAT))


def test_types_that_are_not_read_are_told() -> None:
    source = (
        "#include <cuda_fp8.h>\n"
        'extern "C" __global__ void f(const __nv_fp8_e4m3* x, float* y, int rows, int cols) '
        f"{{ {_R} float s = 0; {_J} s += float(v[j]); y[r] = s; }}"
    ).replace("const float* v", "const __nv_fp8_e4m3* v")
    arguments = [
        array("x", "input", "rows", "cols", dtype="float8_e4m3fn"),
        array("y", "output", "rows"),
    ]
    state = cuda_state(source, "f", [*arguments, scalar("rows"), scalar("cols")], A_ROW, SIZES)
    assert "float8_e4m3fn, which is not read" in reason(MOVE, state)


def test_constants_of_the_c_library_are_read() -> None:
    body = f"{{ {_R} float m = -INFINITY; {_J} m = fmaxf(m, v[j]); y[r] = m; }}"
    state = matrix_state(body, A_ROW, ROWS)
    assert "0xff800000" in str(MOVE.propose(state))
