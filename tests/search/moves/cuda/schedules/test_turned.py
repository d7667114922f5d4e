"""Permutations written anew: tiles, whatever the rank and whatever is computed on the way."""

from __future__ import annotations

from typing import Any

import pytest
from cuda_moves import PretendedLab, array, cuda_state, reason, scalar
from scheduled import FLAT, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.turned_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_E = "int e = blockIdx.x * blockDim.x + threadIdx.x; if (e >= rows * cols) return;"
_TWO = {"grid": ["cdiv(cols, 16)", "cdiv(rows, 16)"], "block": [16, 16]}
_RC = (
    "int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (r >= rows || c >= cols) return;"
)
SPELLED: dict[str, tuple[str, dict[str, Any]]] = {
    "a transpose": (f"{{ {_RC} y[c * rows + r] = x[r * cols + c]; }}", _TWO),
    "a transpose whose threads store neighbours": (
        f"{{ {_E} int i = e / rows, j = e % rows; y[e] = x[j * cols + i]; }}",
        FLAT,
    ),
    "a transpose that computes": (
        f"{{ {_RC} float v = x[r * cols + c]; y[c * rows + r] = v / (1.0f + expf(-v)); }}",
        _TWO,
    ),
    "a loop over the grid with a stepped pointer": (
        "{ for (size_t e = blockIdx.x * blockDim.x + threadIdx.x; e < (size_t)rows * cols;"
        " e += (size_t)blockDim.x * gridDim.x) { const float* p = x + e / cols * cols + e % cols;"
        " y[e % cols * rows + e / cols] = *p; } }",
        {"grid": [64], "block": [128]},
    ),
}
SHAPES = [{"rows": 37, "cols": 45}, {"rows": 64, "cols": 32}, {"rows": 5, "cols": 100}]


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    body, launch = SPELLED[spelling]
    state = matrix_state(body, launch, ("cols", "rows"))
    (found,) = written_beside(lab, MOVE, state, SHAPES)
    assert "__shared__" in found.source


def permuted(order: str) -> State:
    """`y[order] = x[a, b, c]`, a thread an element of x."""
    sizes = {"a": "na", "b": "nb", "c": "nc"}
    index = ""
    for each in order:
        index = f"({index}) * {sizes[each]} + {each}" if index else each
    body = (
        'extern "C" __global__ void f(const float* x, float* y, int na, int nb, int nc) {'
        " int e = blockIdx.x * blockDim.x + threadIdx.x; if (e >= na * nb * nc) return;"
        f" int c = e % nc, b = e / nc % nb, a = e / (nb * nc); y[{index}] = x[e]; }}"
    )
    arguments = [
        array("x", "input", "na", "nb", "nc"),
        array("y", "output", *(sizes[each] for each in order)),
        *(scalar(name) for name in ("na", "nb", "nc")),
    ]
    launch = {"grid": ["cdiv(na * nb * nc, 128)"], "block": [128]}
    return cuda_state(body, "f", arguments, launch, {s: {"max": 512} for s in ("na", "nb", "nc")})


@pytest.mark.parametrize("order", ["acb", "cab", "bca", "cba"])
def test_axes_change_places_in_three_dimensions(order: str, lab: PretendedLab) -> None:
    written_beside(lab, MOVE, permuted(order), [{"na": 3, "nb": 35, "nc": 40}])


def test_rows_that_the_contract_makes_whole_are_divided_by_a_number(lab: PretendedLab) -> None:
    body = (
        f"{{ {_E} int p = e % cols, c = e / cols % 64, b = e / (cols * 64);"
        " y[(b * cols + p) * 64 + c] = x[e]; }"
    )
    shape = {"rows": 128, "cols": 45}
    whole = {"rows": {"max": 4096, "multiple_of": 64}, "cols": {"max": 4096}}
    written_beside(lab, MOVE, matrix_state(body, FLAT, symbols=whole), [shape])
    assert "not trusted" in reason(MOVE, matrix_state(body, FLAT))  # it stores beyond its end


def test_where_neighbours_stay_neighbours_nothing_is_staged() -> None:
    assert "no element lies beside another" in reason(MOVE, permuted("bac"))
