"""What is read of kernels: golden text, one text for all spellings, and honesty where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from lifted_kernels import ELEMENTWISE, HEAD, LOOP, ROW_SUMS, lifted

from kernelwright.analysis.lift import Argument
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.runners.toolchains.compilers import nvrtc

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

GELU_TEXT = """\
for all i < cols*rows:
  y[i] = (x[i] * 0.5) * (tanh(x[i] * 0.797884583) + 1)
"""
SUM_TEXT = """\
for all i < rows:
  y[i] = sum(k1 < cols: x[cols*i + k1]; from 0)
"""
_ROW = "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return; "


@pytest.mark.parametrize("spelling", ELEMENTWISE)
def test_a_kernel_of_one_element_reads_the_same_in_every_spelling(
    spelling: str, tmp_path: Path
) -> None:
    assert lifted_text(lifted(ELEMENTWISE[spelling], tmp_path)) == GELU_TEXT


@pytest.mark.parametrize("spelling", ROW_SUMS)
def test_sums_of_rows_read_the_same_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    found = lifted_text(lifted(ROW_SUMS[spelling], tmp_path))
    assert found.replace("x[cols*i + k1] + 0", "x[cols*i + k1]") == SUM_TEXT


def test_a_matrix_product_is_a_sum_over_two_dimensions(tmp_path: Path) -> None:
    source = (
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int m, int n, '
        "int k) { int i = blockIdx.y * blockDim.y + threadIdx.y,"
        " j = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < m && j < n) { float s = 0; for (int q = 0; q < k; ++q)"
        " s += a[i * k + q] * b[q * n + j]; c[i * n + j] = s; } }"
    )
    arguments = tuple(
        Argument(name, "float32" if name in "abc" else "int32", array=name in "abc")
        for name in ("a", "b", "c", "m", "n", "k")
    )
    assert lifted_text(lifted(source, tmp_path, arguments)) == (
        "for all j < m, i < n:\n  c[j*n + i] = sum(k1 < k: a[j*k + k1] * b[k1*n + i]; from 0)\n"
    )


PLANES = """extern "C" __global__ void f(const float* x, float* y, float* m, int planes, int rows) {
    __shared__ float part[64];
    float s = 0;
    for (int p = 0; p < planes; ++p)
        for (int i = threadIdx.x; i < rows; i += 64)
            s += x[(p * gridDim.x + blockIdx.x) * rows + i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int d = 32; d > 0; d >>= 1) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    for (int p = 0; p < planes; ++p)
        for (int i = threadIdx.x; i < rows; i += 64)
            y[(p * gridDim.x + blockIdx.x) * rows + i] = x[(p * gridDim.x + blockIdx.x) * rows + i];
    if (threadIdx.x == 0) m[blockIdx.x] = part[0];
}
"""


def test_threads_that_walk_a_row_of_each_plane_walk_all_of_it(tmp_path: Path) -> None:
    arguments = tuple(
        Argument(name, "float32" if name in "xym" else "int32", array=name in "xym")
        for name in ("x", "y", "m", "planes", "rows")
    )
    found = lifted_text(lifted(PLANES, tmp_path, arguments, block=64))
    assert "each k1 < planes:\n    each k2 < rows:\n      y[" in found
    assert "m[i] = sum(k3 < planes: sum(k4 < rows: x[" in found


GROUPS = {
    "a block of CUB": (
        "#include <cub/cub.cuh>",
        "typedef cub::BlockReduce<float, 64> Folds; __shared__ typename Folds::TempStorage kept;",
        "s = Folds(kept).Sum(s);",
    ),
    "tiles of cooperative groups": (
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
        "namespace cg = cooperative_groups;",
        "auto all = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(all);"
        " __shared__ float kept[2];",
        "s = cg::reduce(warp, s, cg::plus<float>{}); if (warp.thread_rank() == 0)"
        " kept[warp.meta_group_rank()] = s; all.sync(); s = kept[0] + kept[1];",
    ),
}


@pytest.mark.parametrize("spelling", GROUPS)
def test_folds_of_a_library_are_sums_of_rows(spelling: str, tmp_path: Path) -> None:
    headers, before, fold = GROUPS[spelling]
    source = (
        f"{headers}\n{HEAD} {{ {before} float s = 0; int r = blockIdx.x; for (int j = threadIdx.x;"
        f" j < cols; j += 64) s += x[r * cols + j]; {fold} if (threadIdx.x == 0) y[r] = s; }}"
    )
    found = lifted_text(lifted(source, tmp_path, block=64))
    assert "y[i] = sum(k1 < cols: x[cols*i + k1]; from 0)\n" in found


def test_a_helper_may_give_several_values_at_once(tmp_path: Path) -> None:
    helper = (
        "struct Four { float a, b, c, d; };"
        " __device__ __noinline__ Four four(float v)"
        " { Four f = {v, 2 * v, 3 * v, 4 * v}; return f; }"
    )
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= rows * cols) return;"
    source = f"{helper} {HEAD} {{ {body} Four f = four(x[i]); y[i] = f.a + f.c; }}"
    assert "y[i] = x[i] + (x[i] * 3)\n" in lifted_text(lifted(source, tmp_path))


@pytest.mark.parametrize(
    ("first", "turn", "kind"),
    [
        ("-1e30f", "s = fmaxf(s, x[r * cols + j]);", "max"),
        ("1e30f", "if (x[r * cols + j] < s) s = x[r * cols + j];", "min"),
        ("1", "s *= x[r * cols + j];", "product"),
        ("0", "if (j % 2 == 0) s += x[r * cols + j];", "sum"),
        ("0", "s -= x[r * cols + j];", "sum"),
        ("0", "s = s * 0.5f + x[r * cols + j];", "recurrence"),
    ],
)
def test_a_loop_is_known_by_how_it_combines(
    first: str, turn: str, kind: str, tmp_path: Path
) -> None:
    source = HEAD + f"{{ {_ROW} float s = {first}; {LOOP} {{ {turn} }} y[r] = s; }}"
    assert f"= {kind}(k1 < cols: " in lifted_text(lifted(source, tmp_path))


def test_the_place_of_a_maximum_is_an_argmax(tmp_path: Path) -> None:
    source = HEAD + (
        f"{{ {_ROW} float m = x[r * cols]; int at = 0;"
        " for (int j = 1; j < cols; ++j) if (x[r * cols + j] > m)"
        " { m = x[r * cols + j]; at = j; } y[r] = at; }"
    )
    assert "argmax(k1 < cols - 1: " in lifted_text(lifted(source, tmp_path))


def test_atomics_are_scatters(tmp_path: Path) -> None:
    source = HEAD + f"{{ {_ROW} atomicAdd(&y[r % 7], x[r]); }}"
    assert lifted_text(lifted(source, tmp_path)) == "for all i < rows:\n  y[i % 7] add= x[i]\n"


def test_what_is_not_understood_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    source = HEAD + (
        f"{{ {_ROW} y[r] = x[r]; float v = x[r]; while (v > 1.0f) v *= 0.5f; y[r + rows] = v; }}"
    )
    found = lifted(source, tmp_path)
    assert found.opaque[0] == "a loop that ends by a comparison of floats"
    assert "y[i] = x[i]" in lifted_text(found)


def test_a_read_of_what_the_kernel_writes_keeps_its_place(tmp_path: Path) -> None:
    source = HEAD + f"{{ {_ROW} float v = y[r]; y[r] = x[r]; y[r + rows] = v; }}"
    assert lifted_text(lifted(source, tmp_path)) == (
        "for all i < rows:\n  let t1 = y[i]\n  y[i] = x[i]\n  y[i + rows] = t1\n"
    )


def test_a_search_is_the_least_place_where_it_ends(tmp_path: Path) -> None:
    loop = "int k = 0; while (k < cols && x[r * cols + k] <= 0) ++k; y[r] = k;"
    assert lifted_text(lifted(f"{HEAD} {{ {_ROW}{loop} }}", tmp_path)) == (
        "for all i < rows:\n"
        "  y[i] = f32(min(k1 < cols: select(x[cols*i + k1] <= 0, cols, k1); from cols))\n"
    )
