"""Vectors where rows may begin between them: one test for the grid, and elements a block apart."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, reason, scalar
from cuda_states import INDEX, ROWS, scale
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases

from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.coarsen_rows import MOVE as COARSEN
from kernelwright.search.moves.cuda.parts.per_element import PerElement, per_element
from kernelwright.search.moves.cuda.parts.reading import read_kernels
from kernelwright.search.moves.cuda.parts.row_alignment import aligned_when
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE
from kernelwright.search.moves.shared.affine import Form

KERNEL = """\
extern "C" __global__ void add(const float* x, float* y, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    y[row * cols + col] += x[row * cols + col];
}
"""
AFTER = """\
extern "C" __global__ void add(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    constexpr unsigned kUnroll = 1;  // vectors of 4 elements a thread
    const unsigned count = cols;
    if (cols % 4 == 0) {
        for (unsigned start = (blockIdx.x * blockDim.x * kUnroll + threadIdx.x) * 4;
             start < count;
             start += gridDim.x * blockDim.x * kUnroll * 4) {
            alignas(16) float x_lanes[kUnroll][4];
            alignas(16) float y_lanes[kUnroll][4];
#pragma unroll
            for (unsigned k = 0; k < kUnroll; ++k) {
                const unsigned first = start + k * blockDim.x * 4;
                if (first < count) {
                    *reinterpret_cast<float4*>(x_lanes[k]) = *reinterpret_cast<const float4*>(x + (cols * row + first));
                    *reinterpret_cast<float4*>(y_lanes[k]) = *reinterpret_cast<const float4*>(y + (cols * row + first));
                }
            }
#pragma unroll
            for (unsigned k = 0; k < kUnroll; ++k) {
                const unsigned first = start + k * blockDim.x * 4;
                if (first < count) {
#pragma unroll
                    for (int lane = 0; lane < 4; ++lane) {
                        y_lanes[k][lane] += x_lanes[k][lane];
                    }
                    *reinterpret_cast<float4*>(y + (cols * row + first)) = *reinterpret_cast<const float4*>(y_lanes[k]);
                }
            }
        }
    } else {
        constexpr unsigned kItems = 4;  // a block apart: a warp's are neighbours
        for (unsigned start = blockIdx.x * blockDim.x * kItems + threadIdx.x;
             start < count;
             start += gridDim.x * blockDim.x * kItems) {
            float x_items[kItems];
            float y_items[kItems];
#pragma unroll
            for (unsigned k = 0; k < kItems; ++k) {
                const unsigned first = start + k * blockDim.x;
                if (first < count) {
                    x_items[k] = x[cols * row + first];
                    y_items[k] = y[cols * row + first];
                }
            }
#pragma unroll
            for (unsigned k = 0; k < kItems; ++k) {
                const unsigned first = start + k * blockDim.x;
                if (first < count) {
                    const int col = first;
                    y_items[k] += x_items[k];
                    y[cols * row + first] = y_items[k];
                }
            }
        }
    }
}
"""  # noqa: E501
BY_ROW = """\
extern "C" __global__ void add(const float* x, float* y, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int base = row * cols;
    const int twisted = row * row;
    if (row >= rows || col >= cols) return;
    y[base + col] += x[twisted + col];
}
"""
SHAPES = ((3, 8), (5, 7), (1, 1), (9, 133), (2, 4), (7, 64), (3, 70))


def add(source: str = KERNEL, size: str = "rows * cols") -> State:
    arguments = [array("x", "input", size), array("y", "inout", "rows * cols")]
    launch = {"grid": ["cdiv(cols, 8)", "cdiv(rows, 4)"], "block": [8, 4]}
    return cuda_state(source, "add", [*arguments, scalar("rows"), scalar("cols")], launch, ROWS)


def test_rows_before_and_after() -> None:
    first = candidates(VECTORIZE, add())[0]
    assert first.source == AFTER
    assert first.plan == {
        "steps": [{"launch": "add", "grid": ["cdiv(cols, 32)", "cdiv(rows, 4)"], "block": [8, 4]}]
    }


@pytest.mark.parametrize("vectors", range(5))
@cases(
    "coarse",
    [False, True],
    ids=["one row", "four rows"],
    why="the same vectors, several rows a thread",
)
def test_sums_are_right_wherever_rows_begin(lab: PretendedLab, vectors: int, coarse: bool) -> None:
    state = after(add(), candidates(VECTORIZE, add())[vectors])
    if coarse:
        state = after(state, candidates(COARSEN, state)[0])
    rng = np.random.default_rng(1)
    runs = [
        ({"rows": r, "cols": c}, {n: rng.standard_normal(r * c, np.float32) for n in "xy"})
        for r, c in SHAPES
    ]
    for (_, given_), outputs in zip(runs, lab.outputs(state, *runs), strict=True):
        assert np.array_equal(outputs["y"], given_["x"] + given_["y"])


def test_without_a_test_for_the_grid_each_row_goes_its_own_way(lab: PretendedLab) -> None:
    state = add(BY_ROW, "rows * rows + cols")
    first = candidates(VECTORIZE, state)[0]
    assert first.source is not None
    assert "if ((twisted) % 4 == 0 && cols % 4 == 0) {" in first.source
    rng = np.random.default_rng(2)
    runs = [
        (
            {"rows": r, "cols": c},
            {
                "x": rng.standard_normal(r * r + c, np.float32),
                "y": rng.standard_normal(r * c, np.float32),
            },
        )
        for r, c in SHAPES
    ]
    for (sizes, given_), outputs in zip(runs, lab.outputs(after(state, first), *runs), strict=True):
        rows, cols = sizes["rows"], sizes["cols"]
        places = np.square(np.arange(rows))[:, None] + np.arange(cols)
        assert np.array_equal(outputs["y"], (given_["x"][places].ravel() + given_["y"]))


def test_all_loads_come_before_the_first_store_on_both_ways(tmp_path: Path) -> None:
    state = after(add(), candidates(VECTORIZE, add())[1])
    found = re.findall(r"(ld|st)\.global(?:\.nc)?(\.v4)?", compiles(state, tmp_path))
    for wide, each in ((".v4", 2), ("", 8)):
        kinds = "".join(kind[0] for kind, width in found if width == wide)
        assert kinds == "l" * 2 * each + "s" * each


def test_a_thread_that_knows_its_own_number_by_a_name_is_left_alone() -> None:
    named = f"    int lane = threadIdx.x;\n{INDEX}    if (i < n) y[i] = x[i] + lane;\n"
    assert "uses threadIdx.x itself" in reason(VECTORIZE, scale(named))


def element_of(state: State) -> PerElement:
    kernels = read_kernels(state)
    assert isinstance(kernels, tuple)
    element = per_element(kernels[0])
    assert isinstance(element, PerElement)
    return element


FORMS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["rows", "cols", "row", "base"]), max_size=3),
        st.integers(-9, 9),
    ),
    max_size=4,
).map(lambda terms: Form.of((tuple(names), factor) for names, factor in terms))
SIZE = st.integers(0, 40)


@given(
    forms=st.lists(FORMS, max_size=3), lanes=st.sampled_from([2, 4, 8, 16]),
    rows=SIZE, cols=SIZE, row=SIZE,
)  # fmt: skip
def test_where_the_tests_hold_every_form_is_whole_vectors(
    forms: list[Form], lanes: int, rows: int, cols: int, row: int
) -> None:
    state = dataclasses.replace(add(), source=BY_ROW)
    tests = aligned_when(forms, lanes, element_of(state), state.spec)
    values = {"rows": rows, "cols": cols, "row": row, "base": row * cols}
    if all(eval(test, {}, dict(values)) for test in tests):
        assert all(form.value(values) % lanes == 0 for form in forms)
    uniform = [test for test in tests if not re.search(r"\b(row|base)\b", test)]
    parts = [names for form in forms for names, _ in form.terms]
    if all({"rows", "cols", "base"} & set(names) for names in parts):
        assert uniform == list(tests)
