"""Structs of several numbers of one type."""

from __future__ import annotations

import pytest

from kernelwright.runners.c_source.structs import struct_element
from kernelwright.runners.c_source.types import Element

SOURCE = b"""
typedef float real;
typedef struct { real x, y; /* in metres */ real z; } Point;
struct __align__(16) Box { float low[3]; float high[2][2]; };
struct Mixed { float x; int n; };
struct Held { float* at; };
struct Made { float x; Made() {} };
"""


@pytest.mark.parametrize(
    ("kind", "lanes"),
    [("Point", 3), ("Box", 7), ("struct Box", 7), ("Mixed", 0), ("Held", 0), ("Made", 0),
     ("Unknown", 0)],
)  # fmt: skip
def test_a_struct_is_as_many_elements_as_it_has_numbers_of_one_type(kind: str, lanes: int) -> None:
    assert struct_element(kind, SOURCE) == (Element("float32", lanes) if lanes else None)
