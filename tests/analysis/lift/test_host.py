"""Host C++ read by the door of CUDA kernels: golden text, one for all spellings; loops that may not
run in any order are not said to; and what the interpreter gives is what the function gives."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernelwright.analysis.lift import Argument, Lifted
from kernelwright.analysis.lift.host import lift_host
from kernelwright.analysis.lift.interpreting import run
from kernelwright.analysis.lift.text import lifted_text
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.runners.toolchains.compilers.plain_host import plain_host_ptx

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

HEAD = "void f(const float* x, float* y, int rows, int cols) "
ARGUMENTS = (
    *(Argument(name, "float32", array=True) for name in "xy"),
    *(Argument(name, "int32", array=False) for name in ("rows", "cols")),
)
_I, _J = "for (int i = 0; i < rows; ++i) ", "for (int j = 0; j < cols; ++j) "


def lifted(source: str, folder: Path) -> Lifted:
    made = plain_host_ptx(source, "f", folder, defines={})
    assert isinstance(made, tuple), made.message
    return lift_host(read_ptx(made[0]), made[1], ARGUMENTS)


GRAM = """\
for all j < rows, i < rows:
  y[j*rows + i] = sum(k1 < cols: x[cols*j + k1] * x[cols*i + k1]; from 0)
"""
GRAMS = {
    "a variable": f"{HEAD}{{ {_I}for (int k = 0; k < rows; ++k) {{ float s = 0; "
    f"{_J}s += x[i * cols + j] * x[k * cols + j]; y[i * rows + k] = s; }} }}",
    "an element that is added to": f"{HEAD}{{ {_I}for (int k = 0; k < rows; ++k) {{ "
    f"y[i * rows + k] = 0; {_J}y[i * rows + k] += x[i * cols + j] * x[k * cols + j]; }} }}",
    "elements set before, and the sum outside": f"{HEAD}{{ for (int i = 0; i < rows * rows; ++i) "
    f"y[i] = 0; {_I}{_J}for (int k = 0; k < rows; ++k) "
    "y[i * rows + k] += x[i * cols + j] * x[k * cols + j]; }",
    "a helper, a template and stepped pointers": "#include <numeric>\ntemplate <typename T> "
    "static T dot(const T* p, const T* q, long n) { T s(0); while (n--) s += *p++ * *q++; "
    f"return s; }}\n{HEAD}{{ float* to = y; {_I}for (int k = 0; k < rows; ++k) "
    "*to++ = dot(x + i * cols, x + k * cols, cols); }",
}


@pytest.mark.parametrize("spelling", ["a variable", "an element that is added to"])
def test_a_product_reads_the_same_in_every_spelling(spelling: str, tmp_path: Path) -> None:
    assert lifted_text(lifted(GRAMS[spelling], tmp_path)) == GRAM


def test_bytes_that_are_set_or_copied_are_elements(tmp_path: Path) -> None:
    source = (
        f"#include <cstring>\n#include <vector>\n{HEAD}{{ std::memset(y, 0, sizeof(float) * rows);"
        " memcpy(y + rows, x, cols * sizeof(float)); }"
    )
    found = lifted_text(lifted(source, tmp_path))
    assert "for all k1 < rows:\n    y[k1] = 0\n" in found
    assert "for all k2 < cols:\n    y[k2 + rows] = x[k2]\n" in found


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"{_I}{_J}y[j * rows + i] = x[i * cols + j];", "for all j < rows, i < cols:\n"),
        ("for (int i = 1; i < rows; ++i) y[i] = y[i - 1] + x[i];", "  each k1 < rows - 1:\n"),
        (f"{_I}y[(int)x[i]] = i;", "  each k1 < rows:\n"),
        (f"{_I}y[i % 4] = x[i];", "  each k1 < rows:\n"),
        (f"{_I}y[(int)x[i]] += 2;", "for all i < rows:\n  y[int(trunc(x[i]))] add= 2\n"),
        (f"{_I}{_J}y[i * 4 + j] = x[i];", "  each k1 < rows:\n    for all k2 < cols:\n"),
        (f"{_I}{_J}y[j] += x[i * cols + j];", "for all i < cols:\n  y[i] = sum(k1 < rows: "),
        (f"{_I}y[i] = y[rows - 1 - i];", "  each k1 < rows:\n"),
    ],
)
def test_only_loops_whose_iterations_lie_apart_are_parallel(
    body: str, text: str, tmp_path: Path
) -> None:
    assert text in lifted_text(lifted(f"{HEAD}{{ {body} }}", tmp_path))


PROVED = GRAMS | {
    "softmax in place": "#include <algorithm>\n#include <cmath>\n#include <limits>\n"
    f"{HEAD}{{ {_I}{{ float m = -std::numeric_limits<float>::infinity(), s = 0; "
    f"{_J}m = std::max(m, x[i * cols + j]); "
    f"{_J}{{ y[i * cols + j] = std::exp(x[i * cols + j] - m); s += y[i * cols + j]; }} "
    f"{_J}y[i * cols + j] /= s; }} }}",
    "steps that read what the last one wrote": f"{HEAD}{{ {_I}{_J}y[i * cols + j] = "
    "(i ? y[(i - 1) * cols + j] : 1) + x[i * cols + j] * (j ? y[i * cols + j - 1] : 2); }",
    "what is added to moves on in the middle": f"{HEAD}{{ {_I}{{ y[0] += x[i]; y[i + 1] = y[0]; "
    "y[0] = 2 * y[0]; } }",
    "a struct that a helper gives back": "struct Two { float a; int n; double d; };\n"
    "static Two two(float v, int n) { return {2 * v, n, v * 0.5}; }\n"
    f"{HEAD}{{ {_I}{{ Two t = two(x[i], i); y[i] = t.a * t.n + (float)t.d; }} }}",
    "a closure that refers to variables": f"{HEAD}{{ float scale = x[0]; "
    "auto put = [&](int i) { y[i] = scale * x[i]; scale += 1; }; "
    f"{_I}put(i); }}",
    "a loop that is left in the middle": f"{HEAD}{{ {_I}{{ int j = 0; float s = 1; "
    "for (; j < cols; ++j) { if (x[i * cols + j] > 1) break; s += x[i * cols + j]; } "
    "y[i] = j; y[rows + i] = s; } }",
    "a helper that returns from a loop": "static int found(const float* p, int n) { "
    "for (int k = 0; k < n; ++k) { if (p[k] < -1) return k; if (p[k] > 1) return 100 + k; } "
    f"return -1; }}\n{HEAD}{{ {_I}y[i] = found(x + i * cols, cols); }}",
    "a table of numbers": "static const float taps[3] = {0.5f, 0.25f, -2.0f};\n"
    f"{HEAD}{{ for (int i = 2; i < rows * cols; ++i) {{ float s = 0; "
    "for (int t = 0; t < 3; ++t) s += taps[t] * x[i - t]; y[i] = s; } }",
    "numbers that stand over the function": "static const float scale = -1.5f;\n"
    "const double bias = 0.1;\nstatic const int step = -2;\nconst unsigned char one = 1;\n"
    f"{HEAD}{{ for (int i = 2; i < rows; ++i) "
    "y[i] = (float)(scale * x[i + step] + bias + one); }",
    "a triangle and its mirror": f"{HEAD}{{ {_I}for (int j = 0; j <= i; ++j) "
    "{ y[i * rows + j] = x[i] - x[j]; y[j * rows + i] = x[i] + x[j]; } }",
}


@pytest.mark.parametrize("name", PROVED)
def test_the_interpreter_gives_what_the_function_gives(name: str, tmp_path: Path) -> None:
    rows, cols = 5, 7
    x = np.random.default_rng(3).normal(size=rows * cols).astype(np.float32)
    x[3], x[9] = -0.0, 40.0
    start = np.full(rows * cols, 0.25, dtype=np.float32)
    wanted, mine = start.copy(), start.copy()
    _called(PROVED[name], tmp_path, x, wanted, rows, cols)
    found = lifted(PROVED[name], tmp_path / "reading")
    assert not found.opaque
    run(found, {"rows": rows, "cols": cols}, {"x": x, "y": mine})
    np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(mine, start)


def _called(source: str, folder: Path, x: object, y: object, rows: int, cols: int) -> None:
    (folder / "f.cpp").write_text(source.replace("void f(", 'extern "C" void f('), encoding="utf-8")
    build = ["g++", "-O1", "-shared", "-fPIC", "-o", "f.so", "f.cpp"]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    flat = np.ctypeslib.ndpointer(dtype=np.float32, flags="C_CONTIGUOUS")
    function = ctypes.CDLL(str(folder / "f.so")).f
    function.argtypes, function.restype = [flat, flat, ctypes.c_int, ctypes.c_int], None
    function(x, y, rows, cols)


def test_a_table_that_the_code_writes_is_not_read_as_what_it_began_with(tmp_path: Path) -> None:
    source = f"static float last[1] = {{1}};\n{HEAD}{{ {_I}{{ y[i] = last[0]; last[0] = x[i]; }} }}"
    assert lifted(source, tmp_path).opaque


def test_a_loop_that_is_left_by_what_it_computes_is_told_as_not_read(tmp_path: Path) -> None:
    source = f"{HEAD}{{ float s = 0; {_I}{{ if (s > 3) break; s += x[i]; }} y[0] = s; }}"
    assert lifted(source, tmp_path).opaque


def test_what_the_standard_library_has_beyond_our_headers_is_told(tmp_path: Path) -> None:
    source = f"#include <thread>\n{HEAD}{{ std::thread([&] {{ y[0] = x[0]; }}).join(); }}"
    made = plain_host_ptx(source, "f", tmp_path, defines={})
    assert not isinstance(made, tuple)
    assert "thread" in made.message
