"""Shapes of the arrays of host functions, from how their loops index them."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.inferring.cpp_loops import Range
from kernelwright.runners.inferring.cpp_shapes import reach_of, shape_of
from kernelwright.runners.inferring.polynomials import Polynomial, number, variable
from kernelwright.runners.loading.completing import OPEN, draft_of_source
from kernelwright.runners.loading.domains import with_domains
from kernelwright.runners.specs.expressions import evaluate_int

M, N = variable("m"), variable("n")
ROWS = "for (int i = 0; i < m; ++i) "
BOTH = ROWS + "for (int j = 0; j < n; ++j) "
ALL = BOTH + "for (int k = 0; k < p; ++k) "
INNER = "for (int i = 1; i < m - 1; ++i) for (int j = 1; j < n - 1; ++j) "


def inferred(body: str, before: str = "") -> tuple[list[Any], list[str]]:
    """Shape of `a`, and what is said of it where it is open."""
    sizes = ", ".join(f"int {name}" for name in ("m", "n", "p", "lda", "stride"))
    head = f"void f(const float* a, float* out, const int* at, {sizes})"
    found = draft_of_source("f.cpp", f"{before}\n{head} {{ out[0] = 0; {body} }}", "f")
    told = [line for line in found.undecided if line.startswith("io.arguments.a.shape")]
    return found.data["io"]["arguments"][0]["shape"], told


KERNELS = {
    "scale2d": (BOTH + "out[i * n + j] = 2 * a[i * n + j];", ["m", "n"]),
    "atax": (BOTH + "out[j] += a[i * n + j] * at[i];", ["m", "n"]),
    "matmul": (ALL + "out[i * p + k] += a[j * p + k];", ["n", "p"]),
    "transpose": (BOTH + "out[j * m + i] = a[i * n + j];", ["m", "n"]),
    "doitgen": (ALL + "out[0] += a[(i * n + j) * p + k];", ["m", "n", "p"]),
    "doitgen, multiplied out": (ALL + "out[0] += a[i * n * p + j * p + k];", ["m", "n", "p"]),
    "hydro": (ROWS + "out[i] = a[i + 10] + a[i + 11];", ["m + 11"]),
    "blur": (
        BOTH + "for (int y = 0; y < 3; ++y) for (int x = 0; x < 3; ++x) "
        "out[i * n + j] += a[(i + y) * (n + 2) + j + x];",
        ["m + 2", "n + 2"],
    ),
    "jacobi": (
        INNER + "out[i * n + j] = a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1]"
        " + a[i * n + j + 1];",
        ["m", "n"],
    ),
    "interior": (INNER + "out[0] += a[i * n + j];", ["m", "n"]),
    "interior of a row": ("for (int i = 1; i < n - 1; i++) out[i] = a[i];", ["n"]),
    "tridiag": (
        ROWS + "{ out[i * n] = a[i * n]; for (int k = 1; k < n; ++k)"
        " out[i * n + k] = a[i * n + k] - a[i * n + k - 1]; }",
        ["m", "n"],
    ),
    "first of each row": (ROWS + "out[i] = a[i * n];", ["m", "n"]),
    "last of each row": (ROWS + "out[i] = a[i * n + n - 1];", ["m", "n"]),
    "row by a pointer": (
        ROWS + "{ const float* row = a + i * n; for (int j = 0; j < n; ++j) out[j] += row[j]; }",
        ["m", "n"],
    ),
    "row by an offset": (
        ROWS + "{ const long base = (long)i * n; for (int j = 0; j < n; ++j)"
        " out[j] += a[base + j]; }",
        ["m", "n"],
    ),
    "row by an address": (BOTH + "out[j] += *(&a[i * n] + j);", ["m", "n"]),
    "channels": (BOTH + "for (int c = 0; c < 3; ++c) out[c] += a[(i * n + j) * 3 + c];",
                 ["m", "n", 3]),
    "complex": (ROWS + "out[i] = a[2 * i] * a[2 * i + 1];", ["m", 2]),
    "up to and with": ("for (int i = 0; i <= n; ++i) out[i] = a[i];", ["n + 1"]),
    "counted from one": ("for (int i = 1; i <= n; ++i) out[i] = a[i - 1];", ["n"]),
    "triangle": (
        "for (int i = 0; i < n; ++i) for (int j = 0; j <= i; ++j) out[i] += a[i * n + j];",
        ["n", "n"],
    ),
    "tiles": (
        "for (int t = 0; t < n; t += 32) for (int i = t; i < std::min(t + 32, n); ++i)"
        " out[i] = a[i];",
        ["n"],
    ),
    "backwards": (ROWS + "out[i] = a[m - 1 - i];", ["m"]),
    "convolution": (
        BOTH + "out[i] += a[i + j];",
        ["m + n - 1"],
    ),
    "overlapping steps": (
        ROWS + "for (int k = 0; k < 3; ++k) out[i] += a[2 * i + k];",
        ["2 * m + 1"],
    ),
    "leading dimension": (BOTH + "out[j] += a[i * lda + j];", ["lda * m + n - lda"]),
    "variables declared before": (
        "int i, j; for (i = 0; i < m; i++) for (j = 0; j < n; j++) out[j] += a[i * n + j];",
        ["m", "n"],
    ),
    "constant bounds": (
        "for (int i = 0; i < 8; ++i) for (int j = 0; j < 16; ++j) out[i] += a[i * 16 + j];",
        [8, 16],
    ),
    "one element": ("out[1] = *a;", [1]),
    "where a condition holds": (BOTH + "if (at[j] > 0) out[j] = a[i * n + j];", ["m", "n"]),
    "a neighbour under a condition": (
        ROWS + "{ float v = a[i]; if (i > 0) v += a[i - 1]; out[i] = v; }",
        ["m"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_an_array_has_the_rows_that_its_loops_index(name: str) -> None:
    body, shape = KERNELS[name]
    assert inferred(body) == (shape, [])


def test_named_constants_are_sizes() -> None:
    body = "for (int i = 0; i < H; ++i) for (int j = 0; j < W; ++j) out[j] += a[i * W + j];"
    before = "#define H 24\nconstexpr int W = 32;"
    assert inferred(body, before) == ([24, 32], [])
    assert inferred(body, "#define H 24")[0] == [OPEN], "nothing says what W is"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ROWS + "out[i] = a[at[i]];", "not indexed by sizes"),
        (BOTH + "out[i] = a[i * j];", "not indexed by sizes"),
        (ROWS + "out[i] = a[i / 2];", "not indexed by sizes"),
        (ROWS + "out[i] = a[i % n];", "not indexed by sizes"),
        (ROWS + "{ out[i] = a[i]; i += at[i]; }", "not indexed by sizes"),
        ("m -= 1; " + ROWS + "out[i] = a[i];", "not indexed by sizes"),
        ("for (int i = 0; i < m; i += 4) out[i] = a[i];", "not indexed by sizes"),
        ("for (int i = 0; i < at[0]; ++i) out[i] = a[i];", "not indexed by sizes"),
        ("for (auto q = a; q < a + n; ++q) out[1] += *q;", "not indexed by sizes"),
        ("const float* q = a; " + ROWS + "{ out[i] = q[0]; q = q + n; }", "not indexed by sizes"),
        (ROWS + "{ int i = at[0]; out[0] = a[i]; }", "not indexed by sizes"),
        ("int i; for (i = 0; i < m; i++) out[i] = 1; out[1] = a[i];", "not indexed by sizes"),
        (ROWS + "{ auto f = [&](int i) { return a[i]; }; out[0] += f(i); }", "not indexed by"),
        (BOTH + "out[j] += a[i * stride + j];", "`stride`, which its size hangs on"),
        (BOTH + "out[i] += a[i] * a[j];", "`m` and `n`, and no one is surely the largest"),
        (ROWS + "if (i + 1 < m) out[i] = a[i + 1];", "`m + 1` under a condition"),
        (ROWS + "{ if (i == m - 1) break; out[i] = a[i + 1]; }", "`m + 1` under a condition"),
        (ROWS + "out[i] = a[i] + (i + 1 < m ? a[i + 1] : 0);", "some under a condition"),
    ],
)
def test_what_is_not_certain_stays_open_with_its_reason(body: str, reason: str) -> None:
    shape, told = inferred(body)
    assert shape == [OPEN]
    assert len(told) == 1 and reason in told[0]


def test_of_accesses_that_differ_the_largest_counts() -> None:
    assert inferred(BOTH + "out[j] = a[i * n + j] + a[j];")[0] == ["m", "n"]
    assert inferred(BOTH + "out[j] = a[(i + 1) * n + j] + a[i * n + j];")[0] == ["m + 1", "n"]
    assert inferred(BOTH + "out[j] = a[i * n + j] + a[m * n];")[0] == ["m * n + 1"]
    assert inferred(BOTH + "out[j] = a[i * n + j] + a[j * m + i];")[0] == ["m * n"]


SIZES = st.sampled_from([number(1), number(2), number(3), M, N, M * N, N + number(2)])


@settings(max_examples=150, deadline=None)
@given(
    strides=st.tuples(SIZES, SIZES),
    bounds=st.tuples(SIZES, SIZES),
    starts=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    offset=st.integers(0, 3),
    m=st.integers(1, 4),
    n=st.integers(1, 4),
)
def test_no_index_lies_beyond_the_shape(
    strides: tuple[Polynomial, Polynomial],
    bounds: tuple[Polynomial, Polynomial],
    starts: tuple[int, int],
    offset: int,
    m: int,
    n: int,
) -> None:
    index, ranges = number(offset), dict[str, Range]()
    for name, stride, bound, start in zip(("i@1", "j@2"), strides, bounds, starts, strict=True):
        index += variable(name) * stride
        ranges[name] = Range(number(start), bound - number(1), steps=False)
    found = reach_of(index, ranges, guarded=False)
    assert found is not None
    shape = shape_of([found])
    assert not isinstance(shape, str)
    elements = prod(_value(size, m, n) for size in shape)
    ends = [_value(bound, m, n) for bound in bounds]
    for i, j in product(range(starts[0], ends[0]), range(starts[1], ends[1])):
        assert i * _value(strides[0], m, n) + j * _value(strides[1], m, n) + offset < elements


def _value(size: Polynomial, m: int, n: int) -> int:
    return evaluate_int(size.written(), {"m": m, "n": n})


def test_the_domains_of_sizes_of_a_matrix_follow_its_shape() -> None:
    source = (
        f"void f(const float* a, float* out, int m, int n) {{ {BOTH} out[j] += a[i * n + j]; }}"
    )
    symbols = with_domains(draft_of_source("f.cpp", source)).data["symbols"]
    assert symbols == {name: {"min": 1, "max": 1 << 16} for name in ("m", "n")}
