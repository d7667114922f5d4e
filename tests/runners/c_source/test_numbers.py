"""Types of numbers in C and CUDA, and integers as they are written."""

from __future__ import annotations

import pytest

from kernelwright.runners.c_source.expressions import bare
from kernelwright.runners.c_source.literals import integer_value
from kernelwright.runners.c_source.nodes import text_of, walk
from kernelwright.runners.c_source.parsing import parse_cpp
from kernelwright.runners.c_source.types import (
    Element,
    element_type,
    is_wide_integer,
    may_be_unsigned,
)


def without_casts(expression: str) -> str:
    """The text that is left of an expression."""
    root = parse_cpp(f"long x = {expression};".encode()).root_node
    (declarator,) = (n for n in walk(root) if n.type == "init_declarator")
    value = declarator.child_by_field_name("value")
    assert value is not None
    return text_of(bare(value))


@pytest.mark.parametrize(
    "kind",
    ["int", "unsigned", "unsigned int", "long", "unsigned long long", "const int", "std::size_t",
     "std::int32_t", "uint64_t", "ptrdiff_t", "uint"],
)  # fmt: skip
def test_integers_of_32_bits_and_more_hold_every_index(kind: str) -> None:
    assert is_wide_integer(kind)


@pytest.mark.parametrize("kind", ["char", "unsigned char", "short", "int8_t", "uint16_t", "bool"])
def test_narrow_integers_do_not(kind: str) -> None:
    assert not is_wide_integer(kind)


@pytest.mark.parametrize("kind", ["float", "double", "__half", "index_t", "T", "int *", "auto", ""])
def test_a_type_that_is_no_integer_or_is_not_known_does_not(kind: str) -> None:
    assert not is_wide_integer(kind)


@pytest.mark.parametrize("kind", ["int4", "uint2", "longlong2", "int1", "uint1"])
def test_a_vector_of_integers_is_no_integer(kind: str) -> None:
    assert element_type(kind) is not None
    assert not is_wide_integer(kind)


def test_a_vector_is_as_many_elements_as_its_name_says() -> None:
    assert element_type("float4") == Element("float32", 4)
    assert element_type("const unsigned int") == Element("uint32")
    assert element_type("float5") is None


@pytest.mark.parametrize("cast", ["(int)(i)", "static_cast<long>(i)", "int(i)", "(size_t)((i))"])
def test_casts_to_wide_integers_leave_an_index_as_it_is(cast: str) -> None:
    assert without_casts(cast) == "i"


@pytest.mark.parametrize(
    "cast", ["(short)i", "static_cast<float>(i)", "(int2)i", "static_cast<uint4>(i)", "char(i)"]
)
def test_other_casts_are_something_else(cast: str) -> None:
    assert without_casts(cast) == cast


def test_what_is_not_known_to_have_a_sign_may_have_none() -> None:
    assert not any(map(may_be_unsigned, ("int", "std::int64_t", "short", "long long")))
    assert all(map(may_be_unsigned, ("unsigned", "std::size_t", "uint8_t", "index_t", "auto")))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("0x1Fu", 31),
        ("0b101", 5),
        ("017", 15),
        ("1'000'000ull", 1000000),
        ("0", 0),
        ("-1", -1),
    ],
)
def test_integers_are_read_as_the_language_writes_them(text: str, value: int) -> None:
    assert integer_value(text) == value


@pytest.mark.parametrize("text", ["1.0", "1e3", "08", "x", "", "0x", "--1", "1_000", "0o17", "2f"])
def test_other_literals_are_no_integers(text: str) -> None:
    assert integer_value(text) is None
