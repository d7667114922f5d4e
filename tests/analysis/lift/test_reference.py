"""A lift as a reference in numpy: what it computes in float64 and in float32, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernelwright.analysis.lift.expressions import Unreadable
from kernelwright.analysis.lift.reference import prelude, reference_source
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves.cuda.schedules.parts.plain import plain_of
from kernelwright.search.moves.shared.base import NotApplicable, State

HEAD = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) '
ROW = "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
EACH = "for (int c = 0; c < cols; ++c)"
CENTRED = (
    HEAD + f"{{ {ROW} const float* v = x + r * cols; float m = 0; {EACH} m += v[c]; m /= cols;"
    f" float s = 0; {EACH} s += (v[c] - m) * (v[c] - m);"
    f" {EACH} if (v[c] > m) y[r * cols + c] = (v[c] - m) / sqrtf(s);"
    " else y[r * cols + c] = 0.0f; }"
)
ADDED = HEAD + f"{{ {ROW} float s = 0; {EACH} s += x[r * cols + c]; y[r] += s; }}"
DOUBLED = HEAD + f"{{ {ROW} {EACH} y[r * cols + c] = 2 * x[r * cols + c]; }}"


def source_of(kernel: str, out: dict[str, Any]) -> str:
    """The reference that is read from a kernel whose output is `y`."""
    spec = KernelSpec.model_validate(
        {
            "name": "f",
            "kernel": {
                "kernel_type": "cuda",
                "source_code": kernel,
                "metadata": {"kernel_name": "f"},
                "launch": {"grid": ["cdiv(rows, 128)"], "block": [128]},
            },
            "io": {
                "arguments": [
                    {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "cols"]},
                    {"name": "y", "dtype": "float32", **out},
                    {"name": "rows", "role": "scalar", "dtype": "int32", "value": "rows"},
                    {"name": "cols", "role": "scalar", "dtype": "int32", "value": "cols"},
                ]
            },
            "symbols": {"rows": {"min": 1, "max": 99}, "cols": {"min": 1, "max": 9999}},
            "workloads": [{"name": "w", "symbols": {"rows": 9, "cols": 999}}],
            "reference": "baseline",
        }
    )
    read = plain_of(State("cuda", kernel, {}, BuildOptions(), spec))
    assert not isinstance(read, NotApplicable), read.reason
    return reference_source(read.lifted, spec)


def called(source: str, *, function: str = "reference", **given: Any) -> Any:
    names = dict[str, Any]()
    exec(compile(source, "reference.py", "exec"), names)
    (found,) = names[function](**given)
    return found


ONE_MORE = (
    HEAD + f"{{ int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
    f" float s = 0; {EACH} s += x[r * cols + c]; atomicAdd(y, s); }}"
)

WHOLE = {"role": "output", "shape": ["rows", "cols"]}
A_ROW_EACH = {"role": "inout", "shape": ["rows"]}


def test_in_double_it_is_what_the_kernel_means() -> None:
    x = np.random.default_rng(1).standard_normal((5, 301))
    found = called(source_of(CENTRED, WHOLE), x=x, rows=5, cols=301)
    d = x - x.mean(axis=1, keepdims=True)
    meant = np.where(d > 0, d / np.sqrt((d * d).sum(axis=1, keepdims=True)), 0.0)
    assert found.dtype == np.float64
    assert np.allclose(found, meant, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_as_the_kernel_it_adds_term_by_term_as_a_plain_loop_does(dtype: str) -> None:
    x = np.random.default_rng(2).random((3, 5000)).astype(dtype)
    y = np.ones(3, dtype=dtype)
    source = source_of(ADDED, A_ROW_EACH)
    source = source if dtype == "float32" else source.replace("floats.real", "floats.double")
    found = called(source, function="as_the_kernel", x=x, y=y, rows=3, cols=5000)
    assert found.dtype == dtype
    assert np.array_equal(found, 1 + np.cumsum(x, axis=1)[:, -1])
    assert np.array_equal(y, np.ones(3)), "what it was given is the next call's, too"


def test_what_all_threads_add_to_one_element_is_added_to_what_was_there() -> None:
    x = np.random.default_rng(4).standard_normal((6, 50))
    source = source_of(ONE_MORE, {"role": "inout", "shape": [1]})
    assert np.allclose(called(source, x=x, y=np.ones(1), rows=6, cols=50), [1 + x.sum()])


def test_pieces_of_large_sums_and_rows_are_one() -> None:
    x = np.random.default_rng(3).standard_normal((7, 100))
    y = np.zeros(7)
    source = source_of(ADDED, A_ROW_EACH).replace(
        "PIECE_ON_HOST, PIECE_ELSEWHERE = 1 << 20", "PIECE_ON_HOST, PIECE_ELSEWHERE = 30"
    )
    assert np.allclose(called(source, x=x, y=y, rows=7, cols=100), x.sum(axis=1), rtol=1e-13)


def test_more_than_a_check_is_worth_is_refused() -> None:
    floats = prelude.Floats(np.zeros(1), exact=True)
    floats.left = 10
    with pytest.raises(OverflowError, match="too large"):
        floats.counted(np.zeros(11))


def test_a_kernel_that_sums_nothing_has_none() -> None:
    with pytest.raises(Unreadable, match="sums no floats"):
        source_of(DOUBLED, WHOLE)
