"""A lift is what its kernel computes: the interpreter beside the pretended GPU."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_moves import PretendedLab, array, cuda_state, scalar
from lifted_kernels import ELEMENTWISE, HEAD, LOOP, ROW_SUMS, ROWS, lifted

from kernelwright.analysis.lift.expressions import (
    Call,
    Carried,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Unreadable,
)
from kernelwright.analysis.lift.fold_laws import plain_fold
from kernelwright.analysis.lift.interpreting import Disagrees, run
from kernelwright.analysis.lift.operations import operate
from kernelwright.analysis.lift.statements import Dim, Lifted, Store
from kernelwright.analysis.lift.sums import total
from kernelwright.runners.toolchains.compilers import nvrtc

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_X = Load("x", Name("k"), "f32")
SIZES: dict[str, Any] = {"rows": {"max": 64}, "cols": {"max": 64}}
SOFTMAX = HEAD + (
    "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
    f" const float* row = x + r * cols; float m = row[0], s = 0; {LOOP} m = fmaxf(m, row[j]);"
    f" {LOOP} s += expf(row[j] - m); {LOOP} y[r * cols + j] = expf(row[j] - m) / s; }}"
)
PROVED = {
    "gelu over the grid": ELEMENTWISE["size_t over the grid"],
    "sums by a stepped pointer": ROW_SUMS["a stepped pointer"],
    "softmax": SOFTMAX,
}


@pytest.mark.parametrize("name", PROVED)
def test_the_interpreter_gives_what_the_kernel_gives(
    name: str, lab: PretendedLab, tmp_path: Path
) -> None:
    rows, cols = 5, 7
    arguments = [array("x", "input", "rows", "cols"), array("y", "inout", "rows", "cols")]
    launch = {"grid": ["cdiv(rows * cols, 32)"], "block": [32]}
    scalars = [scalar("rows"), scalar("cols")]
    state = cuda_state(PROVED[name], "f", [*arguments, *scalars], launch, SIZES)
    x = np.random.default_rng(7).normal(size=rows * cols).astype(np.float32)
    x[3], x[9] = -0.0, 40.0
    start = np.full(rows * cols, 0.25, dtype=np.float32)
    sizes = {"rows": rows, "cols": cols}
    (given,) = lab.outputs(state, (sizes, {"x": x, "y": start}))
    mine = start.copy()
    launched = {**sizes, "nctaid.x": math.ceil(rows * cols / 32), "ntid.x": 32}
    run(lifted(PROVED[name], tmp_path, ROWS), launched, {"x": x, "y": mine})
    np.testing.assert_allclose(mine, given["y"], rtol=1e-5, atol=1e-7)
    assert not np.array_equal(mine, start)


def test_an_access_beyond_an_array_is_no_value() -> None:
    twice = Call("add", (Load("x", Name("i"), "f32"), Number(1.0, "f32")), "f32")
    lift = Lifted("f", (), (Dim("i", Number(4)),), (Store("y", Name("i"), twice),))
    arrays = {"x": np.zeros(3, np.float32), "y": np.zeros(4, np.float32)}
    with pytest.raises(Disagrees, match="an access of x beyond its 3 elements"):
        run(lift, {}, arrays)


@pytest.mark.parametrize("bits", [32, 64])
def test_without_signs_minus_one_is_the_greatest_number(bits: int) -> None:
    below = operate(f"lt_u{bits}", [np.array([-1, 2]), np.array([3, 3])], "bool")
    assert below.tolist() == [False, True]
    assert operate(
        f"gt_u{bits}", [np.int64(-1) + np.zeros((), np.int64), np.asarray(3)], "bool"
    )  # one for all places


def test_folds_within_folds_are_given_up_where_they_take_too_long() -> None:
    inner: Expr = Load("x", total(Name(f"k{depth}") for depth in range(5)), "f32")
    for depth in range(5):
        inner = plain_fold("sum", f"k{depth}", Number(40), Number(0.0, "f32"), f"~{depth}", inner)
    lift = Lifted("f", (), (Dim("i", Number(4)),), (Store("y", Name("i"), inner),))
    arrays = {"x": np.ones(200, np.float32), "y": np.zeros(4, np.float32)}
    with pytest.raises(Unreadable, match="it takes too long to be interpreted"):
        run(lift, {}, arrays, most_work=1 << 20)


def test_a_sum_whose_array_was_written_since_is_summed_anew() -> None:
    one = Carried("~s", "f32", Number(0.0, "f32"), Call("add", (Name("~s", "f32"), _X), "f32"))
    whole = Fold("sum", "k", Number(3), (one,), 0)
    body = (Store("y", Number(0), whole), Store("x", Number(1), Number(9.0, "f32")))
    kernel = Lifted("f", (), (), (*body, Store("y", Number(1), whole)))
    arrays = {"x": np.ones(3, np.float32), "y": np.zeros(2, np.float32)}
    run(kernel, {}, arrays)
    assert arrays["y"].tolist() == [3.0, 11.0]
