"""Whether a changed text can reach some lines: said only where the text shows that it cannot."""

from __future__ import annotations

import pytest

from kernelwright.analysis.spans.reach import kept_away

CUDA = """\
#define SCALE 2.0f
__device__ void helper(float& into, float by) { into += by; }
__global__ void k(const float* a, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = n + 1;
    float sum = 0.0f;
    float unused = 1.0f;
    for (int t = 0; t < n; ++t) {
        sum += a[i * stride + t];
    }
    if (i < n) c[i] = SCALE * sum;
}
"""
HOT = (9,)
TRITON = """\
@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, 2 * x)
"""


def cuda(old: str, new: str) -> str | None:
    assert old in CUDA
    return kept_away(CUDA, CUDA.replace(old, new), HOT)


def test_a_store_behind_the_loop_keeps_away_from_it() -> None:
    told = cuda("c[i] = SCALE * sum", "c[i] = sum * SCALE")
    assert told == "lines 11 differ, and write nothing that lines 9 rest on"
    assert cuda("    float unused = 1.0f;\n", "") is not None
    assert cuda("    float unused = 1.0f;\n", "    float unused = 1.0f;\n    c[0] = 0.0f;\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sum += a[i * stride + t]", "sum += __ldg(a + i * stride + t)"),  # the line itself
        ("int stride = n + 1", "int stride = 1 + n"),  # its operand
        ("int i = blockIdx.x", "int i = gridDim.y + blockIdx.x"),  # an operand's operand, a guard
        ("#define SCALE 2.0f", "#define SCALE 4.0f"),  # a macro may be anywhere
        ("t < n; ++t) {", "t < n; t += 2) {"),  # how often it runs
        ("if (i < n) c[i]", "if (i <= n) c[i]"),  # control is not looked into
        ("c[i] = SCALE * sum", "helper(sum, 1.0f), c[i] = sum"),  # by reference
        ("c[i] = SCALE * sum", "float* p = &sum, c[i] = *p"),  # by its address
        ("c[i] = SCALE * sum", "c[i] = SCALE *\n        sum"),  # a part of a statement
        ("float unused = 1.0f;", "__syncthreads();"),
        ("float unused = 1.0f;", "/*"),
        ("float unused = 1.0f;", "sum++;"),
    ],
)
def test_what_may_reach_it_is_left_open(old: str, new: str) -> None:
    assert cuda(old, new) is None


def test_a_store_of_triton_keeps_away_and_a_load_before_it_does_not() -> None:
    hot = (4,)
    store = TRITON.replace("2 * x)", "x * 2)")
    assert kept_away(TRITON, store, hot)
    assert kept_away(TRITON, TRITON.replace("tl.arange(0, BLOCK)", "tl.arange(0, 8)"), hot) is None


def test_nothing_is_said_of_no_change_and_of_no_lines() -> None:
    assert kept_away(CUDA, CUDA, HOT) is None
    assert kept_away(CUDA, CUDA.replace("float unused = 1.0f;", ""), ()) is None
