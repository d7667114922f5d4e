"""Which `for` loops count, and what their heads say."""

from __future__ import annotations

import pytest

from kernelwright.runners.c_source.loops import ForLoop, for_loop, innermost_loops
from kernelwright.runners.c_source.nodes import text_of, walk
from kernelwright.runners.c_source.parsing import parse_cpp


def read(code: str) -> ForLoop | None:
    root = parse_cpp(f"void f() {{ {code} }}".encode()).root_node
    return for_loop(next(n for n in walk(root) if n.type == "for_statement"))


def loop(code: str) -> ForLoop:
    found = read(code)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "head",
    ["int i = 0; i < n; ++i", "int i = 0; i < n; i++", "int i = 0; n > i; i += 1",
     "int i = 0; i < n; i = i + 1", "int i = 0; i < n; i = 1 + i"],
)  # fmt: skip
def test_a_loop_is_the_same_however_its_head_is_spelled(head: str) -> None:
    found = loop(f"for ({head}) {{}}")
    assert (found.variable, found.kind, text_of(found.start)) == ("i", "int", "0")
    assert (found.relation, text_of(found.bound)) == ("<", "n")
    assert (text_of(found.step) or "1") == "1"


def test_a_head_may_declare_more_than_its_variable() -> None:
    found = loop("for (int i = 0, end = n; i < end; ++i) {}")
    assert not found.alone and text_of(found.start) == "0"
    assert loop("for (int i{0}; i < n; ++i) {}").alone


def test_a_variable_may_be_declared_before_its_loop() -> None:
    assert loop("int i; for (i = 2; i <= n; i += 4) {}").kind == ""


@pytest.mark.parametrize(
    "head",
    ["int i = n; i > 0; --i", "int i = 0; i < n; i *= 2", "int i = 0; i < n; ++j",
     "int i = 0; j < n; ++i", "int i = 0; i < n; ++i, ++j",
     "int i = 0; i < n && ok; ++i", "int* p = a; p < end; ++p", ";;", "int i = 0; i < n; i -= 1"],
)  # fmt: skip
def test_a_loop_of_another_form_is_none(head: str) -> None:
    assert read(f"for ({head}) {{}}") is None


@pytest.mark.parametrize("inside", ["++i;", "i = 3;", "f(&i);", "int& j = i;"])
def test_a_loop_whose_body_changes_its_variable_does_not_count_alone(inside: str) -> None:
    assert not loop(f"for (int i = 0; i < n; ++i) {{ {inside} }}").counts_alone


@pytest.mark.parametrize(
    ("head", "trips"),
    [
        ("int i = 0; i < 8; ++i", 8),
        ("int i = 1; i <= 8; i += 3", 3),
        ("int i = 0; i < n; ++i", None),
    ],
)
def test_a_loop_in_numbers_says_how_often_it_runs(head: str, trips: int | None) -> None:
    assert loop(f"for ({head}) {{}}").trips == trips


def test_innermost_loops_have_no_loop_in_them() -> None:
    code = b"void f() { for (;;) { for (;;) {} } for (;;) { while (x) {} } for (;;) {} }"
    assert len(list(innermost_loops(parse_cpp(code).root_node))) == 2
