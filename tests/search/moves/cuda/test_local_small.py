"""Small moves on CUDA sources: before and after, what is refused, and that all results compile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, reason, scalar
from tiers import cases

from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import Move, NotApplicable, State
from kernelwright.search.moves.cuda.avoid_double import MOVE as AVOID_DOUBLE
from kernelwright.search.moves.cuda.block_shapes import MOVE as SHAPES
from kernelwright.search.moves.cuda.coarsen_rows import MOVE as COARSEN
from kernelwright.search.moves.cuda.grid_stride import MOVE as GRID_STRIDE
from kernelwright.search.moves.cuda.launch_bounds import MOVE as LAUNCH_BOUNDS
from kernelwright.search.moves.cuda.pad_shared_tiles import MOVE as PAD
from kernelwright.search.moves.cuda.restrict_pointers import MOVE as RESTRICT
from kernelwright.search.moves.cuda.streaming_accesses import MOVE as STREAM
from kernelwright.search.moves.cuda.unroll_loops import MOVE as UNROLL
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE
from kernelwright.search.moves.cuda.warp_barriers import MOVE as WARP

ROWS: dict[str, Any] = {"rows": {"max": 4096}, "cols": {"max": 4096}}
SIZES = [scalar("rows"), scalar("cols")]
ALL = (
    RESTRICT, VECTORIZE, GRID_STRIDE, STREAM, UNROLL, LAUNCH_BOUNDS, PAD, SHAPES, COARSEN,
    AVOID_DOUBLE, WARP,
)  # fmt: skip


def matrix(source: str, launch: dict[str, Any] | None = None, **more: Any) -> State:
    """A kernel `f` from x (rows, cols) to y (rows, cols)."""
    arrays = [array("x", "input", "rows", "cols"), array("y", "output", "rows", "cols")]
    usual = {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}
    return cuda_state(source, "f", [*arrays, *SIZES], launch or usual, ROWS, **more)


GELU = """\
#define CUBE 0.044715
// y = gelu(x)
__global__ void f(float* x, float *y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) {
        double u = 0.7978845608 * (x[i] + CUBE * pow(x[i], 3) + 1e-9 * pow(x[i], 2));
        y[i] = 0.5 * x[i] * (1.0f + tanh(u));  // 0.5 stays in this comment
    }
}
"""
MEAN = """\
extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < cols; ++k) sum += x[row * cols + k];
    for (int k = 0; k < cols; ++k) {
        y[row * cols + k] = sum / cols;
    }
}
"""
SQUARE = """\
extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = 0.5 * pow(x[i], 2);
}
"""
SUMS = MEAN.replace("sum / cols", "sum")
TILE = """\
#define TILE 32
extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = x[row * cols + col];
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    if (row < cols && col < rows) y[row * rows + col] = tile[threadIdx.x][threadIdx.y];
}
"""
TILED = {"grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 32]}
ROWWISE = {"grid": ["cdiv(rows, 128)"], "block": [128]}
CORPUS = {
    "gelu": matrix(GELU),
    "mean": matrix(MEAN, ROWWISE),
    "tile": matrix(TILE, TILED),
}


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("move", ALL, ids=lambda m: m.id)
def test_what_a_move_writes_compiles_and_is_not_written_again(
    move: Any, name: str, tmp_path: Path
) -> None:
    state = CORPUS[name]
    found = move.propose(state)
    if isinstance(found, NotApplicable):
        assert found.reason
        return
    made = [after(state, candidate) for candidate in found]
    assert all((m.source, m.plan) != (state.source, state.plan) for m in made)
    assert all(c.method == move.method for c in found)
    compiles(made[0], tmp_path / "first")
    compiles(made[-1], tmp_path / "last")
    again = move.propose(made[0])
    if not isinstance(again, NotApplicable):
        others = {(after(made[0], c).source) for c in again}
        assert made[0].source not in others


def test_pointers_are_restrict_and_const_where_they_are_only_read() -> None:
    (found,) = candidates(RESTRICT, CORPUS["gelu"])
    before, changed = "(float* x, float *y,", "(const float* __restrict__ x, float *__restrict__ y,"
    assert found.source == GELU.replace(before, changed)
    assert "has it" in reason(RESTRICT, after(CORPUS["gelu"], found))


def test_an_array_that_is_handed_over_twice_is_not_restrict() -> None:
    launch = {"steps": [{"launch": "f", "grid": ["rows"], "block": [256],
                         "args": ["y", "y", "rows", "cols"]}]}  # fmt: skip
    assert isinstance(RESTRICT.propose(matrix(GELU, launch)), NotApplicable)


def test_literals_and_squares_are_single_precision_and_comments_stay() -> None:
    narrow, all_of_it = candidates(AVOID_DOUBLE, CORPUS["gelu"])
    expected = (
        GELU.replace("0.044715", "0.044715f")
        .replace("0.7978845608", "0.7978845608f")
        .replace("1e-9 * pow(x[i], 2)", "1e-9f * (x[i] * x[i])")
        .replace("= 0.5 *", "= 0.5f *")
    )
    assert narrow.source == expected
    assert all_of_it.source == expected.replace("double u", "float u")
    assert "no literal" in reason(AVOID_DOUBLE, after(CORPUS["gelu"], all_of_it))


def test_a_contract_of_doubles_keeps_its_doubles() -> None:
    arguments = [array("y", "output", "n", dtype="float64"), scalar("n")]
    state = cuda_state(
        "__global__ void f(double* y, int n) { y[threadIdx.x] = 0.5; }",
        "f", arguments, {"grid": [1], "block": [32]}, {"n": {"max": 32}},
    )  # fmt: skip
    assert reason(AVOID_DOUBLE, state) == "an argument of the contract is double"


def test_unrolling_goes_on_lines_of_its_own_above_innermost_loops() -> None:
    found = {c.detail: c.source for c in candidates(UNROLL, CORPUS["mean"])}
    expected = MEAN.replace("    for (", "#pragma unroll 4\n    for (")
    assert found["#pragma unroll 4 on all 2 loops"] == expected
    first = found["#pragma unroll 4 on the loop in line 5"]
    assert first == MEAN.replace("    for (", "#pragma unroll 4\n    for (", 1)
    state = after(CORPUS["mean"], candidates(UNROLL, CORPUS["mean"])[0])
    again = {c.detail: c.source for c in candidates(UNROLL, state)}
    assert again["#pragma unroll 8 on all 2 loops"] == expected.replace("unroll 4", "unroll 8")


def test_loops_with_barriers_and_short_ones_are_not_unrolled() -> None:
    body = "for (int k = 0; k < 8; ++k) y[k] = 0;\n for (int k = 0; k < cols; ++k) __syncthreads();"
    state = matrix(f"__global__ void f(float* x, float* y, int rows, int cols) {{\n {body}\n}}")
    assert "no innermost `for` loop" in reason(UNROLL, state)


def test_launch_bounds_follow_the_block_and_cap_registers() -> None:
    found = [c.detail for c in candidates(LAUNCH_BOUNDS, CORPUS["mean"])]
    assert found[0] == "__launch_bounds__(128, 8)"
    assert {"__launch_bounds__(128, 16)", "__launch_bounds__(128)"} < set(found)
    source = candidates(LAUNCH_BOUNDS, CORPUS["mean"])[0].source
    assert source == MEAN.replace("void f", "void __launch_bounds__(128, 8) f")
    other = after(CORPUS["mean"], candidates(LAUNCH_BOUNDS, CORPUS["mean"])[0])
    assert all("bounds__(128, 8)" not in (c.source or "") for c in candidates(LAUNCH_BOUNDS, other))


def test_a_tile_that_is_read_down_its_columns_is_padded_once() -> None:
    (found,) = candidates(PAD, CORPUS["tile"])
    assert found.source == TILE.replace("tile[TILE][TILE]", "tile[TILE][TILE + 1]")
    assert "without padding" in reason(PAD, after(CORPUS["tile"], found))
    straight = TILE.replace("tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.x]")
    assert "down its columns" in reason(PAD, matrix(straight, TILED))


def test_what_is_touched_once_streams() -> None:
    both, stores, loads = candidates(STREAM, CORPUS["tile"])
    expected = TILE.replace("= x[row * cols + col]", "= __ldcs(&x[row * cols + col])")
    stored = ("y[row * rows + col] = tile[threadIdx.x][threadIdx.y]",
              "__stcs(&y[row * rows + col], tile[threadIdx.x][threadIdx.y])")  # fmt: skip
    assert both.source == expected.replace(*stored)
    assert stores.source == TILE.replace(*stored)
    assert loads.source == expected.replace("__ldcs", "__ldcg")


def test_what_threads_share_or_read_again_does_not_stream() -> None:
    source = """\
__global__ void f(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = y[i] + x[i % cols] + x[i];
}
"""
    assert "no array is only read" in reason(STREAM, matrix(source))


def test_vectors_stream_as_vectors(tmp_path: Path) -> None:
    source = GELU.replace("double", "float").replace("pow(x[i], 3)", "x[i]")
    vectors = after(matrix(source), candidates(VECTORIZE, matrix(source))[0])
    both = candidates(STREAM, vectors)[0]
    assert both.source is not None
    assert "__ldcs(reinterpret_cast<const float4*>(x + first))" in both.source
    assert "__stcs(reinterpret_cast<float4*>(y + first), *reinter" in both.source
    ptx = compiles(after(vectors, both), tmp_path)
    assert "ld.global.cs.v4.f32" in ptx and "st.global.cs.v4.f32" in ptx


def test_a_grid_of_resident_blocks_goes_through_all_elements() -> None:
    state = matrix(GELU.replace("int i", "const int i"))
    first = candidates(GRID_STRIDE, state)[0]
    loop = """\
    for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < rows * cols; at += gridDim.x * blockDim.x) {
        const int i = at;
        double u"""  # noqa: E501
    assert first.source is not None and loop in first.source
    assert first.plan == {
        "steps": [{"launch": "f", "grid": ["min(cdiv(rows * cols, 256), 1056)"], "block": [256]}]
    }
    assert "no size in numbers" not in reason(GRID_STRIDE, after(state, first))


ROOT = Path(__file__).parents[4]
BEGINNERS = sorted(
    [*ROOT.glob("benchmarks/kernels/*/cuda.json"), *ROOT.glob("examples/cuda_*/spec.json")]
)


def beginner(path: Path) -> State:
    data = json.loads(path.read_text(encoding="utf-8"))
    spec = KernelSpec.model_validate(data)
    source = (path.parent / data["kernel"]["source_path"]).read_text(encoding="utf-8")
    return State("cuda", source, {}, BuildOptions(), spec)


@cases(
    "path",
    BEGINNERS,
    ids=lambda p: p.parent.name,
    why="further kernels of a beginner: each move is compiled above",
)
def test_what_local_moves_make_of_beginners_kernels_compiles(path: Path, tmp_path: Path) -> None:
    state = beginner(path)
    for move in ALL:
        found = move.propose(state)
        if not isinstance(found, NotApplicable):
            compiles(after(state, found[0]), tmp_path / move.id)


def test_a_value_that_is_loaded_and_stored_at_once_streams_twice() -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n if (i < rows * cols) y[i] = x[i];"
    state = matrix(f"__global__ void f(float* x, float* y, int rows, int cols) {{\n {body}\n}}")
    both = candidates(STREAM, state)[0].source
    assert both is not None and "__stcs(&y[i], __ldcs(&x[i]));" in both


def test_rows_that_lie_far_apart_do_not_stream() -> None:
    assert "no array" in reason(STREAM, CORPUS["mean"])


def test_loops_of_macros_are_left_to_the_compiler() -> None:
    source = MEAN.replace("k < cols", "k < ITEMS")
    state = matrix(source, ROWWISE, parameters={"ITEMS": {"values": [2, 4]}})
    assert "no innermost `for` loop" in reason(UNROLL, state)


def test_a_block_of_one_warp_waits_as_a_warp() -> None:
    small = {"grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 1]}
    (found,) = candidates(WARP, matrix(TILE, small))
    assert found.source == TILE.replace("__syncthreads", "__syncwarp")
    assert "no kernel is launched" in reason(WARP, matrix(TILE, TILED))
    assert "no kernel whose block" in reason(WARP, after(matrix(TILE, small), found))


RESULTS: dict[str, tuple[Move, State]] = {
    "grid-stride": (GRID_STRIDE, matrix(SQUARE)),
    "unrolled": (UNROLL, matrix(SUMS, ROWWISE)),
    "float": (AVOID_DOUBLE, matrix(SQUARE)),
    "streams": (STREAM, matrix(SQUARE)),
    "restrict": (RESTRICT, matrix(SUMS, ROWWISE)),
    "bounds": (LAUNCH_BOUNDS, matrix(SUMS, ROWWISE)),
    "padded": (PAD, matrix(TILE, TILED)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_small_moves_change_no_result(name: str, lab: PretendedLab) -> None:
    move, state = RESULTS[name]
    rng = np.random.default_rng(4)
    shapes = ((33, 40), (1, 1), (64, 31))
    runs = [
        ({"rows": r, "cols": c}, {"x": rng.integers(-8, 8, (r, c)).astype(np.float32)})
        for r, c in shapes
    ]
    before = lab.outputs(state, *runs)
    moved = lab.outputs(after(state, candidates(move, state)[0]), *runs)
    for one, other in zip(before, moved, strict=True):
        assert np.array_equal(one["y"], other["y"])
