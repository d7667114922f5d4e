"""What declarators declare, functions with their parameters, and names that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelwright.runners.c_source.declarators import declared
from kernelwright.runners.c_source.functions import CppFunction, cpp_functions
from kernelwright.runners.c_source.names import changed_in, names_in
from kernelwright.runners.c_source.nodes import text_of, walk
from kernelwright.runners.c_source.parsing import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node


def only(source: str) -> CppFunction:
    (found,) = cpp_functions(source, cuda="__global__" in source)
    return found


def first(source: str, kind: str) -> Node:
    return next(n for n in walk(parse_cpp(source.encode()).root_node) if n.type == kind)


def declarator(source: str) -> Node:
    found = first(source, "declaration").child_by_field_name("declarator")
    assert found is not None
    return found


def body(statements: str) -> Node:
    return first(f"void f() {{ {statements} }}", "compound_statement")


@pytest.mark.parametrize(
    "declaration",
    ["float x;", "float x = y;", "float *x;", "float **x = z;", "float& x = y;", "auto&& x = y;",
     "float x[4][8];", "const float (*x)[8];", "const float (&x)[8] = y;",
     "const float *const x = y;", "float *__restrict__ x = y;", "float x(int n);"],
)  # fmt: skip
def test_a_declarator_has_one_name_whatever_is_around_it(declaration: str) -> None:
    assert declared(declarator(declaration)).name == "x"


def test_a_declarator_says_what_is_around_its_name() -> None:
    tile = declared(declarator("float x[4][N];"))
    assert [text_of(size) for size in tile.sizes] == ["4", "N"]
    assert declared(declarator("float **x;")).pointers == 2
    assert declared(declarator("float& x = y;")).is_reference
    assert declared(declarator("float x(int n);")).is_function
    assert declared(declarator("float x = 1;")).is_plain


def test_parameters_are_read_with_their_types_and_levels() -> None:
    listed = "const std::uint8_t* __restrict__ a, float b[16], double& c, unsigned int n, int*"
    function = only(f"void f({listed}) {{}}")
    assert [p.name for p in function.parameters] == ["a", "b", "c", "n", "argument4"]
    assert [p.type for p in function.parameters] == [
        "std::uint8_t", "float", "double", "unsigned int", "int",
    ]  # fmt: skip
    assert [p.pointers for p in function.parameters] == [1, 1, 0, 0, 1]
    a, b, c, *_ = function.parameters
    assert a.const and not b.const
    assert b.extent == "16" and c.reference
    assert text_of(b.node) == "float b[16]"


def test_a_kernel_has_its_parameter_list_and_its_body() -> None:
    kernel = only("__global__ void __launch_bounds__(128) k(float* y) { y[0] = 1; }")
    assert (kernel.name, text_of(kernel.listed)) == ("k", "(float* y)")
    assert text_of(kernel.body) == "{ y[0] = 1; }"


def test_a_function_that_gives_a_pointer_or_a_reference_is_one_as_well() -> None:
    for gives in ("float*", "float&"):
        assert only(f"{gives} f(float* p) {{ return p; }}").name == "f"


@pytest.mark.parametrize(
    "statement",
    ["n = 1;", "n += 2;", "++n;", "n--;", "(n)++;", "m = n = 3;", "f(&n);", "int& other = n;",
     "auto&& other = n;", "for (;; n += 4) {}"],
)  # fmt: skip
def test_what_is_assigned_counted_or_lent_changes(statement: str) -> None:
    assert "n" in changed_in(body(statement))


@pytest.mark.parametrize("statement", ["int n = 1;", "m = n;", "x[n] = 1;", "f(n);", "m = -n;"])
def test_what_is_only_read_or_declared_does_not(statement: str) -> None:
    code = body(statement)
    assert "n" in names_in(code)
    assert "n" not in changed_in(code)
