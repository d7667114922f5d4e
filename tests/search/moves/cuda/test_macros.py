"""What moves write compiles beside macros of the source that have the names of theirs: many kernels
have a `#define T 8`, and `T` stands in templates and in CUDA's own headers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cuda_moves import after, candidates, compiles
from layouts import c_on_one_line, c_with_comments
from scheduled import A_ROW, matrix_state
from tiled_products import TILED, product

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import MOVES

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")
BY_ID = {move.id: move for move in MOVES}
ON_TOP = "#define T 8\n#define N 4\n#define USE 1\n#define v (1 +)\n#define parts\n"
SUMS = (
    "{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; float s = 0;"
    " for (int j = 0; j < cols; ++j) s += x[r * cols + j]; y[r] = s; }"
)


@pytest.mark.parametrize(
    ("move", "layout"),
    [
        ("sgemm_ring", c_on_one_line),
        ("async_copies", c_with_comments),
        ("elementwise_schedule", c_with_comments),
    ],
)
def test_a_tile_size_called_as_a_type_of_templates_is(
    move: str, layout: Callable[[str], str], tmp_path: Path
) -> None:
    state = product(layout(TILED))
    compiles(after(state, candidates(BY_ID[move], state)[0]), tmp_path)


def test_names_that_a_schedule_brings_give_way_to_macros(tmp_path: Path) -> None:
    state = matrix_state(SUMS, A_ROW, ("rows",))
    source = ON_TOP + state.source
    state = replace(state, source=source)
    compiles(after(state, candidates(BY_ID["row_schedule"], state)[0]), tmp_path)
