"""Host C++ written anew from what it computes: the same for every spelling, right at odd shapes,
and nothing where the reading is not whole."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from cpp_moves import first, proposed, reason, sources
from host_harness import HostKernel, array, compiled, run, scalar

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import Move
from kernelwright.search.moves.cpp.schedules import loops_schedule, panels_schedule

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

LOOPS, PANELS = loops_schedule.MOVE, panels_schedule.MOVE
HEAD = "void f(const float* x, const float* w, float* y, int rows, int cols) "
SIZES = ({"rows": 37, "cols": 70}, {"rows": 3, "cols": 2}, {"rows": 64, "cols": 133})
_SIDE = "rows * rows + rows * cols + cols"
_I, _J = "for (int i = 0; i < rows; ++i) ", "for (int j = 0; j < cols; ++j) "


def kernel(body: str, before: str = "", head: str = HEAD) -> HostKernel:
    """`f(x, w, y, rows, cols)`, all arrays large enough for whatever a body does."""
    arguments = (
        array("x", "input", _SIDE),
        array("w", "input", _SIDE),
        array("y", "inout", _SIDE),
        scalar("rows"),
        scalar("cols"),
    )
    return HostKernel("f", f"{before}{head}{{ {body} }}\n", arguments, SIZES)


PRODUCTS = {
    "dots": kernel(
        f"{_I}for (int k = 0; k < rows; ++k) {{ float s = 0; "
        f"{_J}s += x[i * cols + j] * w[k * cols + j]; y[i * rows + k] = s; }}"
    ),
    "added to in memory": kernel(
        f"for (int i = 0; i < rows * rows; ++i) y[i] = 0; {_I}{_J}for (int k = 0; k < rows; ++k) "
        "y[i * rows + k] += x[i * cols + j] * w[k * cols + j];"
    ),
    "a helper and stepped pointers": kernel(
        f"float* to = y; {_I}for (int k = 0; k < rows; ++k) "
        "*to++ = dot(x + i * cols, w + k * cols, cols);",
        "template <typename T> static T dot(const T* p, const T* q, long n) "
        "{ T s(0); while (n--) s += *p++ * *q++; return s; }\n",
    ),
    "typedefs, macros and size_t": kernel(
        "for (size_t i = 0; i < (size_t)rows; ++i) for (size_t k = 0; k < (size_t)rows; ++k) { "
        "real s = 0; for (size_t j = 0; j < (size_t)cols; ++j) s += AT(x, i, j) * AT(w, k, j); "
        "y[i * rows + k] = s; }",
        "#include <cstddef>\ntypedef float real;\n#define AT(m, i, j) m[(i) * cols + (j)]\n",
    ),
    "sums that begin with a bias, and an end": kernel(
        f"{_I}for (int k = 0; k < rows; ++k) {{ float s = x[k]; {_J}s += x[i * cols + j] * "
        "w[k * cols + j]; y[i * rows + k] = relu(s); }",
        "static inline float relu(float v) { return v > 0 ? v : 0; }\n",
    ),
    "an early return": kernel(
        f"if (rows <= 0) return; {_I}for (int k = 0; k < rows; ++k) {{ float s = 0; "
        f"{_J}s += x[i * cols + j] * w[k * cols + j]; y[i * rows + k] = s; }}"
    ),
}
OTHERS = {
    "neighbours with a rim": kernel(
        f"{_I}{_J}y[i * cols + j] = i && j ? x[i * cols + j] - x[(i - 1) * cols + j - 1] : 0;"
    ),
    "structs of two numbers": kernel(
        f"{_I}{_J}y[i * cols + j] = x[j].a * w[i] + x[j].b;",
        "struct Pair { float a, b; };\n",
        HEAD.replace("float* x", "Pair* x"),
    ),
    "a transpose": kernel(f"{_I}{_J}y[j * rows + i] = 2 * x[i * cols + j];"),
    "sums down columns": kernel(
        f"{_J}{{ float s = w[j]; {_I}s += x[i * cols + j]; y[j] = s / rows; }}"
    ),
    "the least of a column, squared": kernel(
        f"{_J}{{ float m = 1e30f; {_I}if (x[i * cols + j] < m) m = x[i * cols + j]; "
        "y[j] = m * m; }"
    ),
    "rows without their means": kernel(
        f"{_I}{{ float s = 0; {_J}s += x[i * cols + j]; s /= cols; "
        f"{_J}y[i * cols + j] = x[i * cols + j] - s; }}"
    ),
    "columns without their means": kernel(
        f"{_J}{{ float s = 0; {_I}s += x[i * cols + j]; s /= rows; "
        f"{_I}y[i * cols + j] = x[i * cols + j] - s; }}"
    ),
    "softmax": kernel(
        f"{_I}{{ float m = x[i * cols], s = 0; {_J}m = std::fmax(m, x[i * cols + j]); "
        f"{_J}{{ y[i * cols + j] = std::exp(x[i * cols + j] - m); s += y[i * cols + j]; }} "
        f"{_J}y[i * cols + j] /= s; }}",
        "#include <cmath>\n",
    ),
    "a product with a transposed product": kernel(
        f"{_J}y[j] = 0; {_I}{{ float s = 0; {_J}s += x[i * cols + j] * w[j]; "
        f"{_J}y[j] += x[i * cols + j] * s; }}"
    ),
    "one sum of everything": kernel(
        "double s = 1; for (int i = 0; i < rows * cols; ++i) s += (double)x[i] * w[i]; y[0] = s;"
    ),
    "a gather": kernel(
        f"{_I}{{ int r = (int)std::fabs(w[i]) % rows; {_J}y[i * cols + j] = x[r * cols + j]; }}",
        "#include <cmath>\n",
    ),
    "steps in time": kernel(
        f"{_I}for (int j = 1; j < cols - 1; ++j) y[j] = (j + 1 < cols ? x[j + 1] : 0) + x[j] * i;"
    ),
    "names of ours": kernel(
        f"const int kLanes = 3; {_I}{{ float total = 0; {_J}total += x[i * cols + j] * kLanes; "
        "y[i] = total + kTile; }",
        "static const float kTile = 2;\n",
    ),
}


@pytest.mark.parametrize("spelling", PRODUCTS)
def test_a_product_gets_tiles_and_panels_in_every_spelling(spelling: str) -> None:
    source = first(PANELS.propose(PRODUCTS[spelling].state()))
    assert "w_panel" in source and "kTileRows" in source


@pytest.mark.parametrize("name", [*PRODUCTS, *OTHERS])
def test_what_is_written_computes_the_same_at_odd_shapes(name: str, tmp_path: Path) -> None:
    mine = (PRODUCTS | OTHERS)[name]
    moves: list[Move] = [LOOPS, PANELS] if name in PRODUCTS else [LOOPS]
    texts = [text for move in moves for text in sources(proposed(move.propose(mine.state())))]
    plain, *changed = compiled([mine.source, *texts], "f", tmp_path)
    for sizes in mine.sizes:
        (expected,) = run(plain, mine, sizes, seed=2)
        for function, text in zip(changed, texts, strict=True):
            (found,) = run(function, mine, sizes, seed=2)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-4, err_msg=text)


def test_what_is_written_reads_as_a_person_would_write_it() -> None:
    source = first(LOOPS.propose(OTHERS["a product with a transposed product"].state()))
    assert "#pragma omp parallel for\n" in source
    assert "const float* __restrict__ x" in source
    assert "total_lanes[lane] += x[i * cols + k + lane] * w[k + lane];" in source
    assert "total += x[(k + 3) * cols + i] * sums[k + 3];" in source


def test_a_team_is_written_only_where_openmp_is() -> None:
    state = OTHERS["a transpose"].state(flags=("-O3",))
    assert all("omp" not in text for text in sources(proposed(LOOPS.propose(state))))


def test_a_team_is_not_woken_for_a_few_stores() -> None:
    for extent, with_team in (("256", False), ("20000", True)):
        body = f"for (int i = 0; i < {extent}; ++i) y[i] = 0; {_I}{_J}y[j] += x[i * cols + j];"
        mine = kernel(body)
        arguments = tuple(
            {**a, "shape": [f"{_SIDE} + 20000"]} if a["name"] == "y" else a for a in mine.arguments
        )
        state = dataclasses.replace(mine, arguments=arguments).state()
        written = sources(proposed(LOOPS.propose(state)))
        stores = [text.partition("= 0;")[0] for text in written]
        assert any("omp parallel" in text for text in stores) is with_team


def test_softmax_computes_each_exponential_once() -> None:
    source = first(LOOPS.propose(OTHERS["softmax"].state()))
    assert source.count("std::exp(") == 2  # whole groups of lanes, and the rest


def test_nothing_is_written_of_what_was_written() -> None:
    mine = OTHERS["a transpose"]
    again = LOOPS.propose(mine.state(first(LOOPS.propose(mine.state()))))
    assert "a schedule has written it" in reason(again)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("float s = 0; for (int i = 0; i < rows; ++i) { if (s > 3) break; s += x[i]; } y[0] = s;",
         "not all of it is understood"),
        ("for (int i = 0; i < 9; ++i) y[i + 100000] = x[i];", "its reading is not trusted"),
        ("volatile float s = x[0]; y[0] = s;", "volatile"),
        ("for (int i = 1; i < rows; ++i) y[i] = y[i - 1] + x[i];", "no loop of it takes"),
    ],
)  # fmt: skip
def test_what_is_not_read_or_not_trusted_is_told(body: str, told: str) -> None:
    assert told in reason(LOOPS.propose(kernel(body).state()))


def test_a_dot_product_has_no_tiles() -> None:
    state = OTHERS["one sum of everything"].state()
    assert "nothing in it takes tiles of sums" in reason(PANELS.propose(state))
