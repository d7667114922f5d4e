"""Blocks in groups: every place of the grid once, whatever its sizes, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, cuda_state, reason, scalar
from layouts import c_on_one_line, c_with_comments
from tiled_products import PLAIN, SOURCES, TILED, T, product, right, runs

from kernelwright.search.moves.cuda.grouped_blocks import GROUPS, MOVE

ODD = ((1, 1, 1), (75, 9, 5), (9, 75, 13), (8 * T, 3 * T, T))


@pytest.mark.parametrize("spelling", SOURCES)
def test_grouped_blocks_compute_the_same_on_grids_that_groups_do_not_divide(
    spelling: str, lab: PretendedLab
) -> None:
    layout = {"tiles": c_on_one_line, "no tiles": c_with_comments}.get(spelling, str)
    state = product(layout(SOURCES[spelling]))
    made = after(state, candidates(MOVE, state)[len(spelling) % len(GROUPS)])
    given = list(runs(*ODD))
    for (_, inputs), found in zip(given, lab.outputs(made, *given), strict=True):
        np.testing.assert_allclose(found["C"], right(inputs), rtol=1e-4, atol=1e-4)


def test_a_group_goes_down_its_columns_and_the_last_one_is_what_is_left(lab: PretendedLab) -> None:
    source = """\
extern "C" __global__ void order(const float* a, const float* b, float* y, int w, int h) {
    for (int k = 0; k < 1; ++k)
        y[blockIdx.y * w + blockIdx.x] = a[blockIdx.x + k] * 0 + b[blockIdx.y + k] * 0 + NUMBER;
}
"""
    arguments = [array("a", "input", "w"), array("b", "input", "h"), array("y", "output", "h", "w")]
    sizes = {"w": {"max": 64}, "h": {"max": 64}}
    state = cuda_state(
        source, "order", [*arguments, scalar("w"), scalar("h")],
        {"grid": ["w", "h"], "block": [1]}, sizes, defines={"NUMBER": 7},
    )  # fmt: skip
    made = after(state, candidates(MOVE, state)[0])
    numbered = made.source.replace("NUMBER", "blockIdx.y * gridDim.x + blockIdx.x")
    given = {"a": np.zeros(3, np.float32), "b": np.zeros(11, np.float32)}
    (found,) = lab.outputs(replace(made, source=numbered), ({"w": 3, "h": 11}, given))
    numbers = found["y"].reshape(11, 3)
    np.testing.assert_array_equal(numbers[:8], np.arange(24).reshape(3, 8).T)
    np.testing.assert_array_equal(numbers[8:], 24 + np.arange(9).reshape(3, 3).T)


def test_grouped_blocks_are_not_grouped_again() -> None:
    state = product(TILED)
    again = after(state, candidates(MOVE, state)[0])
    assert "their order is another already" in reason(MOVE, again)


HELPER = "__device__ int tile_row() { return blockIdx.y; }\n"
REFUSED = {
    "one axis": (PLAIN, {"grid": ["M"], "block": [32]}, "has one dimension"),
    "clusters": (
        TILED,
        {"grid": ["cdiv(N, 8)", "cdiv(M, 8)"], "block": [8, 8], "cluster": [1, 2]},
        "go in clusters",
    ),
    "a helper": (
        HELPER + TILED.replace("int row = blockIdx.y", "int row = tile_row() + 0 * blockIdx.y"),
        None,
        "beside the kernel takes the number of a block",
    ),
    "a macro": (
        "#define COL (blockIdx.x * T)\n" + TILED.replace("col < N ?", "COL < N ?"),
        None,
        "beside the kernel takes the number of a block",
    ),
    "the whole of it": (
        TILED.replace("float sum", "const uint3 b = blockIdx; float sum"),
        None,
        "otherwise than as `blockIdx.x`",
    ),
    "nothing shared": (
        PLAIN.replace("A[row * K + k] * B[k * N + col]", "A[row * K + k]"),
        None,
        "neighbouring blocks share nothing in both directions",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_grouped_is_told(case: str) -> None:
    source, launch, words = REFUSED[case]
    assert words in reason(MOVE, product(source, launch))
