"""Why an entry that its C++ name calls cannot be read as an idiom: in words that are true."""

from __future__ import annotations

import pytest

from kernelwright.search.moves.cuda.idioms.parts.reading import read_kernel

TEMPLATE = b"template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }\n"
WITHIN = b"namespace mine { __global__ void scale(float* x) { x[threadIdx.x] *= 2; } }\n"


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        (TEMPLATE, "scale<float>", "`scale` is a template"),
        (WITHIN, "mine::scale", "`mine::scale` stands in a namespace"),
        (WITHIN, "other", "no single function `other`"),
    ],
)
def test_an_instance_and_a_name_of_a_namespace_are_found(
    source: bytes, name: str, why: str
) -> None:
    found = read_kernel(source, name)
    assert isinstance(found, str) and why in found
