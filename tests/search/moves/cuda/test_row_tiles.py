"""Vectors of several rows a thread, which share the lines that they load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, reason, scalar
from cuda_states import ROWS, memory
from tiers import cases

from kernelwright.search.moves import MOVES, State
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE
from kernelwright.search.moves.cuda.vectorize_rows import MOVE

SHAPES = ((9, 24), (5, 7), (1, 1), (2, 4), (3, 8), (4, 260), (19, 36), (7, 133), (18, 132))
"""rows and columns: whole tiles and none, whole vectors and none, more than one block"""
PLACE = """\
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
"""
EDGE = "row == 0 || row == rows - 1 || col == 0 || col == cols - 1"


def grid(body: str, dtype: str = "float32", out: str = "output", bound: str = "") -> State:
    """A kernel over a grid u with a row k of factors; the threads of a block are 8 x 8."""
    kind = {"float32": "float", "float64": "double"}[dtype]
    source = (
        f'extern "C" __global__ void {bound} sweep(const {kind}* u, const {kind}* k, {kind}* out, '
        f"int rows, int cols) {{\n{body}}}\n"
    )
    arguments = [
        array("u", "input", "rows", "cols", dtype=dtype),
        array("k", "input", "cols", dtype=dtype),
        array("out", out, "rows", "cols", dtype=dtype),
        scalar("rows"),
        scalar("cols"),
    ]
    launch = {"grid": ["cdiv(cols, 8)", "cdiv(rows, 8)"], "block": [8, 8]}
    return cuda_state(source, "sweep", arguments, launch, ROWS)


def edged(inside: str, edge: str = EDGE) -> str:
    """The body of a kernel whose elements at an edge stay what they are."""
    return f"""{PLACE}    if (row >= rows || col >= cols) return;
    int i = row * cols + col;
    if ({edge}) {{
        out[i] = u[i];
    }} else {{
        {inside}
    }}
"""


FIVE = edged("out[i] = u[i - cols] + u[i + cols] + u[i - 1] + u[i + 1];")
WIDE = EDGE.replace("row == 0", "row < 2").replace("col == 0", "col < 2").replace(
    "row == rows - 1", "row >= rows - 2").replace("col == cols - 1", "col >= cols - 2")  # fmt: skip


def five(u: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = u.copy()
    out[1:-1, 1:-1] = ((u[:-2, 1:-1] + u[2:, 1:-1]) + u[1:-1, :-2]) + u[1:-1, 2:]
    return out


def nine(u: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
    rows, cols = u.shape
    out = u.copy()
    total = np.zeros((max(rows - 2, 0), max(cols - 2, 0)), u.dtype)
    for down in range(3):
        for right in range(3):
            total += u[down : down + rows - 2, right : right + cols - 2]
    if total.size:
        out[1:-1, 1:-1] = k[1:-1] * total
    return out


def far(u: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = u.copy()
    out[2:-2, 2:-2] = (u[:-4, 2:-2] + u[4:, 2:-2]) + (u[2:-2, :-4] - u[2:-2, 4:])
    return out


def below(u: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
    out = u.copy()
    out[:-1] = (u[1:] - u[:-1]) * k
    return out


NINE = f"""{PLACE}    const int base = row * cols;
    int i = base + col, up = i - cols, down = i + cols;
    if (col < cols && row < rows) {{
        if (row > 0 && row < rows - 1 && col > 0 && col < cols - 1)
            out[i] = k[col] * (u[up - 1] + u[up] + u[up + 1] + u[i - 1] + u[i] + u[i + 1]
                               + u[down - 1] + u[down] + u[down + 1]);
        else
            out[i] = u[i];
    }}
"""
KERNELS = {
    "5 points": (FIVE, five, "float32"),
    "5 points of 8 bytes": (FIVE, five, "float64"),
    "9 points, and a factor that all rows share": (NINE, nine, "float32"),
    "neighbours two away": (
        edged(
            "out[i] = (u[i - 2 * cols] + u[i + 2 * cols]) + (u[i - 2] - u[i + 2]);", WIDE
        ),
        far,
        "float64",
    ),
    "the row below": (
        edged("out[i] = (u[i + cols] - u[i]) * k[col];", "row == rows - 1"),
        below,
        "float32",
    ),
}  # fmt: skip


@cases(
    "kernel",
    KERNELS,
    why="further stencils",
)
@cases(
    "number",
    [0, 1],
    why="further sizes of a tile",
)
def test_tiles_of_rows_give_what_the_kernel_gave(
    lab: PretendedLab, kernel: str, number: int
) -> None:
    body, expected, dtype = KERNELS[kernel]
    state = after(grid(body, dtype), candidates(MOVE, grid(body, dtype))[number])
    rng = np.random.default_rng(7)
    runs = [
        (
            {"rows": r, "cols": c},
            # sums of small whole numbers are the same in any order
            {n: rng.integers(-9, 9, shape).astype(dtype) for n, shape in (("u", (r, c)), ("k", c))},
        )
        for r, c in SHAPES
    ]
    for (_, inputs), outputs in zip(runs, lab.outputs(state, *runs), strict=True):
        assert np.array_equal(outputs["out"], expected(**inputs).ravel()), state.source


def test_what_a_tile_adds_to_is_loaded_with_it(lab: PretendedLab) -> None:
    body = edged("out[i] += u[i - cols] + u[i + cols];", "row == 0 || row == rows - 1")
    state = grid(body.replace("= u[i];", "+= u[i];"), out="inout")
    first = candidates(MOVE, state)[0]
    assert first.source is not None and "out_lines[r][lane] += u_lines[r][lane]" in first.source
    rng = np.random.default_rng(1)
    inputs = {n: rng.integers(-9, 9, s).astype("float32")
              for n, s in (("u", (7, 12)), ("k", 12), ("out", (7, 12)))}  # fmt: skip
    (found,) = lab.outputs(after(state, first), ({"rows": 7, "cols": 12}, inputs))
    u, wanted = inputs["u"], inputs["out"] + inputs["u"]
    wanted[1:-1] = inputs["out"][1:-1] + u[:-2] + u[2:]
    assert np.array_equal(found["out"], wanted.ravel())


def test_rows_of_a_tile_share_their_lines(tmp_path: Path) -> None:
    state = grid(FIVE)
    two, four = candidates(MOVE, state)
    for rows, found in ((2, two), (4, four)):
        assert found.detail == f"sweep: u, out: {rows} rows x 4 elements a thread"
        moved = memory(compiles(after(state, found), tmp_path / str(rows)))
        assert moved.count("ld.global.v4") == rows + 2 and moved.count("st.global.v4") == rows
        assert not [each for each in moved if "local" in each]
    assert two.source is not None
    for line in (
        "if (cols % 4 == 0) {",
        "alignas(16) float u_lines[kRows + 2][12];",
        "for (unsigned line = 1; line < kRows + 1; ++line) {",
        "u_lines[line][3] = u[cols * row - cols + first - 1];",
        "out_lines[r][lane] = u_lines[r][lane + 4] + u_lines[r + 2][lane + 4]",
    ):
        assert line in two.source


def test_blocks_are_a_warp_wide_and_the_grid_shrinks_by_a_tile() -> None:
    first = candidates(MOVE, grid(FIVE))[0]
    step = {"launch": "sweep", "grid": ["cdiv(cols, 128)", "cdiv(rows, 16)"], "block": [32, 8]}
    assert first.plan == {"steps": [step]}
    bounded = candidates(MOVE, grid(FIVE, bound="__launch_bounds__(64)"))[0]
    kept = {"launch": "sweep", "grid": ["cdiv(cols, 32)", "cdiv(rows, 16)"], "block": [8, 8]}
    assert bounded.plan == {"steps": [kept]}


def test_tiles_of_rows_come_before_rows_of_vectors() -> None:
    assert MOVE in MOVES
    tiles, vectors = (candidates(m, grid(FIVE)) for m in (MOVE, VECTORIZE))
    assert min(c.prior for c in tiles) > max(c.prior for c in vectors)


def without(text: str, other: str = "") -> str:
    assert text in FIVE
    return FIVE.replace(text, other)


REFUSED = {
    "no array is read at rows beside": without("u[i - cols] + u[i + cols] + "),
    "not one guard for both|no `if": without(
        "if (row >= rows || col >= cols) return;", "if (row >= rows) return;\nif (col < cols) {}"
    ),
    "is a loop": without(
        "out[i] = u[i - cols] +", "for (int j = 0; j < 2; ++j) out[i] = u[i - cols] +"
    ),
    "no `int i = blockIdx.y": without("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.y"),
    "is no product of sizes": without("row >= rows ||", "row >= rows - 1 ||"),
    "uses gridDim.x, which": without("int i = row * cols", "int i = row * gridDim.x * 8"),
    "work together": without("        out[i] = u[i - cols]", "__syncwarp(); out[i] = u[i - cols]"),
}


@pytest.mark.parametrize("said", REFUSED)
def test_tiles_say_why_they_do_not_fit(said: str) -> None:
    found = reason(MOVE, grid(REFUSED[said]))
    assert any(part in found for part in said.split("|")), found


def test_what_is_stored_is_not_read_at_rows_beside() -> None:
    body = FIVE.replace("u[", "out[")
    assert "no array is read at rows beside" in reason(MOVE, grid(body, out="inout"))


def test_tiles_are_not_made_twice() -> None:
    state = grid(FIVE)
    assert "no `int i = " in reason(MOVE, after(state, candidates(MOVE, state)[0]))


def test_names_of_the_source_stay_its_own(lab: PretendedLab) -> None:
    body = FIVE.replace("int i =", "int line = 0, top = line, kRows = top;\n    int i = kRows +")
    state = grid(body)
    u = np.random.default_rng(2).integers(-9, 9, (6, 16)).astype("float32")
    made = after(state, candidates(MOVE, state)[0])
    (found,) = lab.outputs(made, ({"rows": 6, "cols": 16}, {"u": u, "k": u[0]}))
    assert np.array_equal(found["out"], five(u, u[0]).ravel()), made.source
