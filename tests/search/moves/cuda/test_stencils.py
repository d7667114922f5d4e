"""Moves on CUDA stencils: the inside first, windows of a vector's neighbours, rows of a grid."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, reason, scalar
from cuda_states import INDEX, ROWS, memory, scale
from tiers import cases

from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.block_shapes import MOVE as SHAPES
from kernelwright.search.moves.cuda.coarsen_rows import MOVE as COARSEN
from kernelwright.search.moves.cuda.restrict_pointers import MOVE as RESTRICT
from kernelwright.search.moves.cuda.streaming_accesses import MOVE as STREAM
from kernelwright.search.moves.cuda.unroll_loops import MOVE as UNROLL
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE
from kernelwright.search.moves.cuda.vectorize_rows import MOVE as TILES


def test_a_load_that_only_some_elements_do_stays_as_it_is() -> None:
    state = scale(INDEX + "    if (i < n) { y[i] = 0; if (i > 2) y[i] = x[i]; }\n")
    source = candidates(VECTORIZE, state)[0].source
    assert source is not None and "x_lanes" not in source and "y_lanes" in source


STENCIL = """\
extern "C" __global__ void stencil(const float* u, float* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;

    int i = row * cols + col;
    if (row == 0 || row == rows - 1 || col == 0 || col == cols - 1) {
        out[i] = u[i];
    } else {
        out[i] = 0.25f * (u[i - cols] + u[i + cols] + u[i - 1] + u[i + 1]);
    }
}
"""


def stencil() -> State:
    arguments = [array("u", "input", "rows", "cols"), array("out", "output", "rows", "cols")]
    launch = {"grid": ["cdiv(cols, 8)", "cdiv(rows, 8)"], "block": [8, 8]}
    return cuda_state(
        STENCIL, "stencil", [*arguments, scalar("rows"), scalar("cols")], launch, ROWS
    )


def averaged(u: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    out = u.copy()
    up, down, left, right = u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:]
    out[1:-1, 1:-1] = np.float32(0.25) * (((up + down) + left) + right)
    return out


CHAINS = {
    "vectors": (VECTORIZE,),
    "rows": (COARSEN,),
    "vectors, then rows": (VECTORIZE, COARSEN),
    "blocks, then vectors, then rows": (SHAPES, VECTORIZE, COARSEN),
    "vectors, then blocks": (VECTORIZE, SHAPES),
    "tiles": (TILES,),
    "restrict, tiles, streams, blocks": (RESTRICT, TILES, STREAM, SHAPES),
    "restrict, vectors, streams, rows": (RESTRICT, VECTORIZE, STREAM, COARSEN, UNROLL),
}


def test_a_stencil_with_the_inside_first_is_the_same(lab: PretendedLab) -> None:
    body, tests = STENCIL.split("    if (row == 0")[0], "row > 0 && row < rows - 1 && col > 0"
    source = f"""{body}\
    if ({tests} && col < cols - 1)
        out[i] = 0.25f * (u[i - cols] + u[i + cols] + u[i - 1] + u[i + 1]);
    else
        out[i] = u[i];
}}
"""
    state = dataclasses.replace(stencil(), source=source)
    first = candidates(VECTORIZE, state)[0]
    assert first.source is not None and "if (!(row > 0 && " in first.source
    u = np.random.default_rng(5).standard_normal((9, 24), np.float32)
    (found,) = lab.outputs(after(state, first), ({"rows": 9, "cols": 24}, {"u": u}))
    assert np.array_equal(found["out"], averaged(u).ravel())


@cases(
    "chain",
    CHAINS,
    why="further orders of the same moves",
)
def test_a_stencil_stays_right_through_chains_of_moves(lab: PretendedLab, chain: str) -> None:
    state = stencil()
    for move in CHAINS[chain]:
        state = after(state, candidates(move, state)[0])
    rng = np.random.default_rng(3)
    runs = [
        ({"rows": r, "cols": c}, {"u": rng.standard_normal((r, c), np.float32)})
        for r, c in ((9, 24), (5, 7), (1, 1), (2, 4), (19, 34), (7, 133), (6, 132))
    ]
    for (_, inputs), outputs in zip(runs, lab.outputs(state, *runs), strict=True):
        assert np.array_equal(outputs["out"], averaged(inputs["u"]).ravel()), state.source


def test_neighbours_of_a_vector_come_in_a_window_and_edges_go_their_own_way() -> None:
    first = candidates(VECTORIZE, stencil())[0]
    assert first.detail == "u, out: 1 x 4 elements a thread"
    assert first.source is not None
    for line in (
        "if (row == 0 || row == rows - 1 || col == 0 || col == cols - 1) inside[k] = false;",
        "= *reinterpret_cast<const float4*>(u + (cols * row - cols + first));",
        "u_window3[k][0] = u[cols * row + first - 1];",
        "u_window3[k][5] = u[cols * row + first + 4];",
        "+ u_window3[k][lane] + u_window3[k][lane + 2]);",
    ):
        assert line in first.source


def test_a_vectorised_stencil_loads_each_row_once(tmp_path: Path) -> None:
    ptx = compiles(after(stencil(), candidates(VECTORIZE, stencil())[0]), tmp_path)
    found = memory(ptx)
    assert found.count("ld.global.v4") == 3 and found.count("st.global.v4") == 1
    assert not [each for each in found if "local" in each]


def test_rows_of_a_grid_before_and_after() -> None:
    first = candidates(COARSEN, stencil())[0]
    body = STENCIL.split("return;\n\n")[1].removesuffix("}\n")
    work = "".join(f"        {line}\n" if line else "\n" for line in body.splitlines())
    assert first.source == (
        STENCIL.split("    int row")[0]
        + """\
    if (col >= cols) return;
    constexpr unsigned kRows = 4;  // rows a thread
    for (unsigned top = (blockIdx.y * blockDim.y + threadIdx.y) * kRows; top < rows;
         top += gridDim.y * blockDim.y * kRows) {
        for (unsigned at = top; at < rows && at < top + kRows; ++at) {
            const int row = at;
"""
        + work
        + "        }\n    }\n}\n"
    )
    assert first.plan == {
        "steps": [
            {"launch": "stencil", "grid": ["cdiv(cols, 8)", "cdiv(rows, 32)"], "block": [8, 8]}
        ]
    }
    assert "no `int i = blockIdx.y" in reason(COARSEN, after(stencil(), first))


def test_block_shapes_take_their_grid_along() -> None:
    first = candidates(SHAPES, stencil())[0]
    assert first.source is None
    assert first.plan == {
        "steps": [
            {"launch": "stencil", "grid": ["cdiv(cols, 32)", "cdiv(rows, 8)"], "block": [32, 8]}
        ]
    }
    shared = STENCIL.replace("    int i =", "    __shared__ float s[8];\n    int i =")
    other = dataclasses.replace(stencil(), source=shared)
    assert "for the number of its thread alone" in reason(SHAPES, other)
