"""What a lift says of a contract: roles by what was there before, sizes that every sample meets,
and nothing where data decide."""

from __future__ import annotations

import pytest

from kernelwright.analysis.lift import Argument
from kernelwright.analysis.lift.contract import Facts, facts_of
from kernelwright.analysis.lift.host import lift_host
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.building.plain_compiler import compiled_plainly
from kernelwright.runners.toolchains.compilers import nvrtc

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

HEAD = "void f(const float* x, const int* at, float* y, int rows, int cols, int words) "
ARGUMENTS = (
    Argument("x", "float32", array=True),
    Argument("at", "int32", array=True),
    Argument("y", "float32", array=True),
    *(Argument(name, "int32", array=False) for name in ("rows", "cols", "words")),
)
_I, _J = "for (int i = 0; i < rows; ++i) ", "for (int j = 0; j < cols; ++j) "


def facts(body: str) -> Facts:
    made = compiled_plainly(f"{HEAD}{{ {body} }}", "f", (), True)
    assert isinstance(made, tuple), made
    return facts_of(lift_host(read_ptx(made[0]), made[1], ARGUMENTS))


@pytest.mark.parametrize(
    ("body", "role"),
    [
        (f"{_J}y[j] = 0; {_I}{_J}y[j] += x[i * cols + j];", "output"),
        (f"{_I}{_J}y[j] += x[i * cols + j];", "inout"),
        ("for (int j = 1; j < cols; ++j) y[j] = x[j];", "inout"),
        (f"{_J}if (x[j] > 0) y[j] = x[j];", "inout"),
        (f"{_J}if (x[j] > 0) y[j] = x[j]; else y[j] = 0;", "output"),
        (f"{_J}y[j] = x[j] / y[j];", "inout"),
    ],
)
def test_an_array_is_an_output_where_nothing_that_was_in_it_counts(body: str, role: str) -> None:
    assert facts(body).roles["y"] == role


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        (f"{_I}{_J}y[j * rows + i] = x[i * cols + j];",
         {"x": ("rows", "cols"), "y": ("cols", "rows")}),
        (f"{_I}y[2 * i + 1] = x[i + 3];", {"x": ("rows + 3",), "y": ("2 * rows",)}),
        ("for (int i = 1; i < rows - 1; ++i) for (int j = 1; j < cols - 1; ++j) "
         "y[i * cols + j] = x[(i - 1) * cols + j] + x[(i + 1) * cols + j];",
         {"x": ("rows", "cols"), "y": ("rows", "cols")}),
        (f"{_I}{_J}y[i * cols + j] = i && j ? x[(i - 1) * cols + j - 1] : 0;",
         {"y": ("rows", "cols")}),
        ("for (int i = 0; i < rows - cols + 1; ++i) { float s = 0; "
         f"{_J}s += x[i + j]; y[i] = s; }}",
         {"x": ("rows",), "y": ("rows + 1 - cols",)}),
    ],
)  # fmt: skip
def test_sizes_are_those_that_every_sample_meets(
    body: str, shapes: dict[str, tuple[str, ...]]
) -> None:
    found = facts(body).shapes
    assert {name: found[name] for name in shapes} == shapes


def test_an_array_of_indices_stays_below_the_size_that_nothing_else_names() -> None:
    found = facts(f"{_I}{_J}y[i * cols + j] = x[at[i] * cols + j];")
    assert found.below == {"at": "words"}
    assert found.shapes["x"] == ("words", "cols")


def test_where_floats_say_which_element_is_meant_no_size_is_told() -> None:
    found = facts(f"{_I}y[(int)x[i] % 8] += 1;")
    assert "y" not in found.shapes and "y" not in found.roles


def test_operations_that_places_share_count_once() -> None:
    body = f"{_J}y[j] = 0; {_I}{{ float s = 0; {_J}s += x[i * cols + j] * x[j]; "
    found = facts(f"{body}{_J}y[j] += x[i * cols + j] * s; }}")
    assert found.flops == "4 * cols * rows"


def test_an_update_of_what_is_there_is_an_operation() -> None:
    both = f"{_J}y[j] = 0; {_I}{{ {_J}y[j] += x[j] * x[i * cols + j]; y[cols + i] = x[i]; }}"
    assert facts(both).flops == "2 * cols * rows"


def test_divisors_and_arrays_that_no_call_touches_are_told() -> None:
    found = facts(f"{_I}y[i] = 1 / x[i];")
    assert found.nonzero == {"x"} and found.untouched == {"at"}


def test_a_lift_that_is_not_whole_says_nothing() -> None:
    stops = "float s = 0; for (int i = 0; i < rows; ++i) { if (s > 3) break; s += x[i]; } y[0] = s;"
    assert facts(stops) == Facts()
