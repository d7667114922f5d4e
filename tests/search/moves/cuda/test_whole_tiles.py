"""Loops without tests of bounds for blocks inside: the same results at the ends, and what is
refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cuda_moves import Array, PretendedLab, after, array, candidates, cuda_state, reason, scalar
from layouts import c_on_one_line, c_with_comments
from tiers import cases
from tiled_products import PLAIN, STEPPED, TILED, T, product, right, runs

from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.whole_tiles import MOVE

SPELLED = {
    "tiles": TILED,
    "on one line": c_on_one_line(STEPPED),
    "with comments": c_with_comments(TILED),
    "stepped pointers": STEPPED,
    "a wide counter": TILED.replace("int t = 0", "size_t t = 0"),
    "turned round": TILED.replace(
        "row < M && t * T + threadIdx.x < K", "K > t * T + threadIdx.x && M - 1 >= row"
    ),
}
ODD = (
    (1, 1, 1),
    (11, 9, 5),
    (3 * T, 2 * T, 3 * T),
    (2 * T + 1, T, 3 * T),
    (2 * T, 3 * T, 2 * T + 3),
)


def unguarded(source: str) -> str:
    """What a whole block does."""
    return source.partition("if (all_inside) {")[2].partition("} else {\n")[0]


@cases(
    "spelling",
    SPELLED,
    why="further kernels of the move",
)
def test_blocks_inside_and_at_the_ends_give_the_same(spelling: str, lab: PretendedLab) -> None:
    state = product(SPELLED[spelling])
    (found,) = candidates(MOVE, state)
    assert "leave out 4 tests" in found.detail
    made = after(state, found)
    given = list(runs(*ODD))
    for (_, inputs), outputs in zip(given, lab.outputs(made, *given), strict=True):
        np.testing.assert_allclose(outputs["C"], right(inputs), rtol=1e-4, atol=1e-4)
    assert "already" in reason(MOVE, made)


TAPS = """\
extern "C" __global__ void blur(const float* x, float* y, int h, int w) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int di = -1; di <= 1; ++di)
        for (int dj = -2; dj < 3; dj += 2) {
            int at = i + di, to = j + dj;
            if (at >= 0 && at < h && 0 <= to && to < w) sum += x[at * w + to];
        }
    if (i < h && j < w) y[i * w + j] = sum;
}
"""


def blur(source: str = TAPS, block: tuple[int, int] = (4, 2)) -> State:
    arguments = [array("x", "input", "h", "w"), array("y", "output", "h", "w")]
    return cuda_state(
        source, "blur", [*arguments, scalar("h"), scalar("w")],
        {"grid": [f"cdiv(w, {block[0]})", f"cdiv(h, {block[1]})"], "block": list(block)},
        {"h": {"max": 64}, "w": {"max": 64}},
    )  # fmt: skip


def test_borders_on_both_sides_are_left_out_inside(lab: PretendedLab) -> None:
    made = after(blur(), candidates(MOVE, blur())[0])
    assert not re.search(r"[<>]=? ?[hw]\b|at >= 0", unguarded(made.source))
    random = np.random.default_rng(0)
    given: list[tuple[dict[str, int], dict[str, Array]]] = []
    for h, w in ((1, 1), (9, 13), (12, 24)):
        x = random.standard_normal((h, w)).astype(np.float32)
        given.append(({"h": h, "w": w}, {"x": x}))
    for (_, inputs), outputs in zip(given, lab.outputs(made, *given), strict=True):
        x = inputs["x"]
        h, w = x.shape
        wide = np.pad(x, 2).astype(np.float64)
        taps = [wide[2 + a : 2 + a + h, 2 + b : 2 + b + w] for a in (-1, 0, 1) for b in (-2, 0, 2)]
        np.testing.assert_allclose(outputs["y"], np.sum(taps, axis=0).ravel(), atol=1e-5)


def test_the_test_of_a_block_is_true_inside_alone(lab: PretendedLab) -> None:
    """What blocks decide is stored in place of the result."""
    (found,) = candidates(MOVE, blur())
    assert found.source is not None
    head, flag, rest = found.source.partition("        if (all_inside) {")
    told = head + "        if (i < h && j < w) y[i * w + j] = all_inside; return;\n" + flag + rest
    state = blur()
    (outputs,) = lab.outputs(
        State(state.kernel_type, told, {}, state.options, state.spec),
        ({"h": 8, "w": 16}, {"x": np.zeros((8, 16), np.float32)}),
    )
    inside = outputs["y"].reshape(8, 16)[::2, ::4]
    np.testing.assert_array_equal(inside, [[0] * 4, [0, 1, 1, 0], [0, 1, 1, 0], [0] * 4])


FIRST, SECOND = "row < M && t * T + threadIdx.x < K", "t * T + threadIdx.y < K && col < N"
REFUSED = {
    "no test in a loop": (PLAIN, "no loop of `mm` compares"),
    "what memory says": (
        TILED.replace(FIRST, "A[0] < M").replace(SECOND, "t < (int)A[1]"),
        "no loop of `mm` compares",
    ),
    "what changes": (
        TILED.replace(FIRST, "sum < K").replace(SECOND, "row++ < N"),
        "no loop of `mm` compares",
    ),
    "a narrow number": (
        TILED.replace("int row", "short row").replace(FIRST, "row < M").replace(SECOND, "row < N"),
        "no loop of `mm` compares",
    ),
    "memory of its own": (
        TILED.replace("        // tiles\n", "        __shared__ float more[4];\n"),
        "would be there twice",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_left_out_is_told(case: str) -> None:
    source, words = REFUSED[case]
    said = reason(MOVE, product(source))
    assert words in said and "fault of" not in said
