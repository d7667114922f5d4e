"""What a spec out of a recording is made of: instances by their names, sizes as expressions."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.runners.c_source.functions import cpp_functions
from kernelwright.runners.errors import SpecError
from kernelwright.runners.recording.opening.arrays import alike
from kernelwright.runners.recording.opening.signatures import instance_of, taken_parameters
from kernelwright.runners.recording.opening.sizes import Sizes
from kernelwright.runners.recording.opening.variables import reached_words


@pytest.mark.parametrize(
    ("readable", "name", "base", "types"),
    [
        ("scale", "scale", "scale", None),
        ("scale(float*, int)", "scale", "scale", ("float*", "int")),
        (
            "void ns::k<float, 4>(float const*, int)",
            "ns::k<float, 4>",
            "k",
            ("float const*", "int"),
        ),
        (
            "void (anonymous namespace)::k<ns::Op<int, 2>, (bool)1>(Pair<int, int>*)",
            "k<ns::Op<int, 2>, (bool)1>",
            "k",
            ("Pair<int, int>*",),
        ),
        ("none()", "none", "none", ()),
    ],
)
def test_a_demangled_name_is_taken_apart(
    readable: str, name: str, base: str, types: tuple[str, ...] | None
) -> None:
    found = instance_of(readable)
    assert (found.name, found.base, found.types) == (name, base, types)


def test_types_are_those_of_the_instance_and_names_those_of_the_source() -> None:
    source = """template <typename T, typename V>
    __global__ void k(const T* __restrict__ x, V* y, long n, T a) {}"""
    (function,) = cpp_functions(source, cuda=True)
    instance = instance_of("void k<__half, float4>(__half const*, float4*, long, __half)")
    found = taken_parameters(function, instance, [(0, 8), (8, 8), (16, 8), (24, 2)])
    assert [(t.name, t.dtype, t.lanes, t.pointers) for t in found] == [
        ("x", "float16", 1, 1),
        ("y", "float32", 4, 1),
        ("n", "int64", 1, 0),
        ("a", "float16", 1, 0),
    ]
    with pytest.raises(SpecError, match="`n` is `long` in the source, 8 bytes"):
        taken_parameters(function, instance, [(0, 8), (8, 8), (16, 4), (24, 2)])


def test_an_expression_stands_only_where_every_launch_bears_it_out() -> None:
    sizes = Sizes(2, {"n": [1000, 300]})
    assert sizes.number("grid_x", [8, 3], ["cdiv(n, 128)"]) == "cdiv(n, 128)"
    assert sizes.number("grid_x", [4, 4], ["cdiv(n, 256)"]) == 4
    assert sizes.number("grid_x", [1000, 300], ["gone + 1"]) == "n"
    assert sizes.number("grid_x", [8, 4], ["cdiv(n, 128)"]) == "grid_x"
    assert sizes.symbols["grid_x"] == (8, 4)


def test_a_shape_of_the_source_may_need_less_than_was_allocated_and_never_more() -> None:
    sizes = Sizes(2, {"n": [10, 20], "m": [3, 3]})
    assert sizes.shape("x", [32, 64], ["n", "m"]) == (("n", "m"), [(10, 3), (20, 3)])
    assert sizes.shape("x", [29, 64], ["n", "m"]) == (("x_size",), [(29,), (64,)])
    assert sizes.shape("x", [10, 20], None) == (("n",), [(10,), (20,)])


def test_drawn_values_have_the_recorded_spread_or_range() -> None:
    drawn = alike(np.array([1.0, 3.0, np.inf], np.float32))
    assert (drawn["kind"], drawn["scale"], drawn["shift"]) == ("randn", 1.0, 2.0)
    assert alike(np.array([4, -2, 7], np.int32)) == {"kind": "randint", "low": -2, "high": 8}


def test_names_are_followed_through_functions_and_macros() -> None:
    sources = [
        "#define TWICE(x) ((x) * two)\n__device__ float* f() { return g(); }",
        "int g() { h; }",
    ]
    assert {"two", "h"} <= reached_words("TWICE(1) + f()", sources)
    assert "h" not in reached_words("TWICE(1)", sources)
