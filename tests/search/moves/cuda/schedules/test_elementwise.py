"""Elements written anew from what they compute: every spelling, every size, every launch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cuda_moves import PretendedLab, array, candidates, cuda_state, reason, scalar
from scheduled import FLAT, HEAD, SIZES, matrix_state, written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.elementwise_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

SWAPPED = {"grid": ["cdiv(rows, 16)", "cdiv(cols, 8)"], "block": [16, 8]}
_I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
SPELLED = {
    "flat": (f"{{ {_I} if (i < rows * cols) y[i] = x[i] / (1.0f + expf(-x[i])); }}", FLAT),
    "a row that is the same for all": (
        f"{{ {_I} if (i < rows * cols) y[i] = x[i] * x[i % cols] + x[i / cols]; }}", FLAT),
    "neighbours that are rows apart": (
        "{ int r = blockIdx.x * blockDim.x + threadIdx.x;"
        " int c = blockIdx.y * blockDim.y + threadIdx.y;"
        " if (r < rows && c < cols) y[r * cols + c] = x[r * cols + c] * 2.0f + x[c]; }", SWAPPED),
    "a thread a row": (
        "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
        " for (int c = 0; c < cols; ++c) y[r * cols + c] = fmaxf(x[r * cols + c], 0.1f); }",
        {"grid": ["cdiv(rows, 32)"], "block": [32]}),
    "what lies behind": (
        f"{{ {_I} if (i < rows * cols) y[i] = i + 1 < rows * cols ? x[i + 1] - x[i] : x[i]; }}",
        FLAT),
    "in some places alone": (
        f"{{ {_I} if (i < rows * cols) {{ y[i] = 0.5f; if (x[i] > 0) y[i] = x[i]; }} }}", FLAT),
}  # fmt: skip


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    state = matrix_state(*SPELLED[spelling])
    shapes = [{"rows": 37, "cols": 64}, {"rows": 13, "cols": 33}, {"rows": 1, "cols": 3}]
    found = written_beside(lab, MOVE, state, shapes)
    assert all(each.plan != state.plan and "Lanes<" in each.source for each in found)


def test_an_array_that_is_read_and_written_is_changed_in_place(lab: PretendedLab) -> None:
    body = f"{{ {_I} if (i < rows * cols) y[i] = y[i] * 0.5f + x[i]; }}"
    written_beside(lab, MOVE, matrix_state(body, FLAT, role="inout"), [{"rows": 9, "cols": 128}])


def test_an_element_that_a_loop_changes_is_read_anew_in_every_turn(lab: PretendedLab) -> None:
    body = (
        f"{{ {_I} if (i >= rows * cols) return; y[i] = y[i] * 2.0f + x[i];"
        " for (int k = 0; k < cols; ++k) if (x[k] > 0) y[i] += x[k] * y[i]; }"
    )
    written_beside(lab, MOVE, matrix_state(body, FLAT, role="inout"), [{"rows": 9, "cols": 4}])


def test_what_a_schedule_wrote_is_not_written_again(lab: PretendedLab) -> None:
    (first, *_) = written_beside(
        lab, MOVE, matrix_state(*SPELLED["flat"]), [{"rows": 8, "cols": 8}]
    )
    assert "a schedule has written it" in reason(MOVE, first)


def test_names_of_the_source_are_not_taken(lab: PretendedLab) -> None:
    head = "#define LANES 3\n#define item 7\nstruct Lanes { float v; };\n" + HEAD
    state = matrix_state(*SPELLED["flat"], head=head)
    written_beside(lab, MOVE, state, [{"rows": 7, "cols": 96}])


def test_a_place_is_never_called_like_a_loop_of_the_lift(lab: PretendedLab) -> None:
    source = (
        'extern "C" __global__ void f(const float* x, float* y, int depth, int rows, int cols) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;"
        " const float* k = x + blockIdx.z % depth; float s = 0; if (i >= cols) return;"
        " for (int m = 0; m < 3; ++m) for (int n = 0; n < 2; ++n)"
        " s += k[(m * rows + j) * cols + i + n]; y[(blockIdx.z * rows + j) * cols + i] = s; }"
    )
    arguments = [array("x", "input", "4 * depth * rows * cols")]
    arguments += [array("y", "output", "depth", "rows", "cols")]
    sizes = [scalar(name) for name in ("depth", "rows", "cols")]
    launch = {"grid": ["cdiv(cols, 32)", "rows", "depth"], "block": [32]}
    domains = {name: {"min": 1, "max": 64} for name in ("depth", "rows", "cols")}
    state = cuda_state(source, "f", [*arguments, *sizes], launch, domains)
    written_beside(lab, MOVE, state, [{"depth": 5, "rows": 3, "cols": 37}], most=1)


def test_a_size_that_only_the_grid_has_is_handed_over(lab: PretendedLab) -> None:
    source = (
        'extern "C" __global__ void f(const float* x, float* y, int cols) {'
        " int c = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (c < cols) y[blockIdx.y * cols + c] = x[blockIdx.y * cols + c] + 1.0f; }"
    )
    arguments = [array("x", "input", "rows", "cols"), array("y", "output", "rows", "cols")]
    launch = {"grid": ["cdiv(cols, 64)", "rows"], "block": [64]}
    state = cuda_state(source, "f", [*arguments, scalar("cols")], launch, SIZES)
    (made, *_) = written_beside(lab, MOVE, state, [{"rows": 5, "cols": 100}])
    assert made.plan is not None
    assert made.plan["steps"][0]["args"] == ["x", "y", "cols", "rows"]


_V = "u[c] * 0.5 + u[c - 1] + u[c + 1] - u[c - nx] - u[c + nx * ny]"
_AT = "blockIdx.x * blockDim.x + threadIdx.x + 1"
_UP = "blockIdx.y * blockDim.y + threadIdx.y + 1"
THROUGH = {
    "planes": (
        f"{{ int x = {_AT}, y = {_UP}; if (x >= nx - 1 || y >= ny - 1) return;"
        f" for (int z = 1; z < nz - 1; ++z) {{ int c = (z * ny + y) * nx + x; v[c] = {_V}; }} }}"
    ),
    "rows of planes, backwards": (
        f"{{ int x = {_AT}, z = {_UP}; if (x >= nx - 1 || z >= nz - 1) return;"
        f" for (int y = ny - 2; y > 0; --y) {{ int c = x + nx * (y + ny * z); v[c] = {_V}; }} }}"
    ),
    "both loops in a thread, over the grid": (
        f"{{ for (int x = {_AT}; x < nx - 1; x += gridDim.x * blockDim.x)"
        " for (int y = 1; y < ny - 1; ++y) for (int z = 1; z < nz - 1; ++z)"
        f" {{ int c = (z * ny + y) * nx + x; v[c] = {_V}; }} }}"
    ),
}
THROUGH["planes, all threads but those at the rim"] = (
    "{ int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) for (int z = 1; z < nz - 1; ++z)"
    f" {{ int c = (z * ny + y) * nx + x; v[c] = {_V}; }} }}"
)


def _block_state(body: str) -> State:
    names = ("nx", "ny", "nz")
    head = f'extern "C" __global__ void f(const double* u, double* v, int {", int ".join(names)}) '
    arrays = [
        array("u", "input", *reversed(names), dtype="float64"),
        array("v", "inout", *reversed(names), dtype="float64"),
    ]
    launch = {"grid": ["cdiv(nx, 8)", "cdiv(ny + nz, 4)"], "block": [8, 4]}
    sizes = {name: {"min": 3, "max": 64} for name in names}
    return cuda_state(head + body, "f", [*arrays, *map(scalar, names)], launch, sizes)


@cases(
    "loops",
    THROUGH,
    why="further spellings, each run beside its original",
)
def test_loops_whose_strides_keep_them_apart_are_places_too(loops: str, lab: PretendedLab) -> None:
    shapes = [{"nx": 9, "ny": 7, "nz": 5}, {"nx": 3, "ny": 4, "nz": 6}]
    for made in written_beside(lab, MOVE, _block_state(THROUGH[loops]), shapes):
        assert made.plan is not None
        (grid,) = made.plan["steps"][0]["grid"]
        assert all(size in grid for size in ("nx", "ny", "nz"))


def test_a_loop_that_stores_to_one_place_again_stays_a_loop() -> None:
    again = THROUGH["planes"].replace("v[c] =", "v[y * nx + x] =")
    assert "may store to the same place" in reason(MOVE, _block_state(again))


def test_a_kernel_in_a_header_of_its_own_is_written_into_the_source_that_includes_it() -> None:
    header = (
        "typedef float real;\n__global__ void scale(const real* x, real* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n"
    )
    source = '#include "scale.h"\nvoid run() { scale<<<1, 256>>>(nullptr, nullptr, 0); }\n'
    plain = cuda_state(
        source, "scale",
        [array("x", "input", "n"), array("y", "output", "n"), scalar("n")],
        {"grid": ["cdiv(n, 256)"], "block": [256]},
        {"n": {"min": 1, "max": 1 << 20}},
    )  # fmt: skip
    assert "no __global__ function" in reason(MOVE, plain)
    written = candidates(MOVE, replace(plain, files={"scale.h": header}))[0].source
    assert written is not None and '#include "scale.h"' not in written
    assert written.count("__global__ void") == 1 and "void run()" in written
