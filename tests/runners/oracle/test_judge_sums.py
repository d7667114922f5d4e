"""Sums and products in narrower units: which are right, by what the contract's types promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from judge_cases import ROWS, nearest_tf32, verdict

from kernelwright.runners.dtypes import truncated_to_tf32

Array = npt.NDArray[Any]


def factors(terms: int, dtype: str = "float32") -> tuple[Array, Array, Array]:
    """64 rows, 64 columns, and their product in double precision."""
    rng = np.random.default_rng(terms)
    a = rng.standard_normal((64, terms), np.float32).astype(dtype)
    b = rng.standard_normal((terms, 64), np.float32).astype(dtype)
    return a, b, a.astype(np.float64) @ b.astype(np.float64)


def summed(a: Array, b: Array, terms: int, keep: Callable[[Array], Array]) -> Array:
    """The product of two matrices, `terms` at a time added exactly to what is kept."""
    wide, other = a.astype(np.float64), b.astype(np.float64)
    total = np.zeros((a.shape[0], b.shape[1]))
    for first in range(0, a.shape[1], terms):
        part = slice(first, first + terms)
        total = keep(total + wide[:, part] @ other[part]).astype(np.float64)
    return total


def to_single(values: Array) -> Array:
    return values.astype(np.float32)


def to_half(values: Array) -> Array:
    return values.astype(np.float16)


def toward_zero(values: Array) -> Array:
    """Float32 without the bits beyond it, as tensor cores add."""
    nearest = values.astype(np.float32)
    beyond = np.abs(nearest.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(nearest, np.float32(0)), nearest)


def test_a_float32_sum_of_16384_terms_one_after_the_other_is_right() -> None:
    a, b, exact = factors(16384)
    found = verdict(exact, summed(a, b, 1, to_single), inputs=("float32", "float32"))
    assert found.right, found.message
    assert found.largest > 1e-5, "a floor of 1e-5 would refuse it"


@pytest.mark.parametrize("terms", [16, 512, 4096])
@pytest.mark.parametrize(
    "narrowed", [nearest_tf32, truncated_to_tf32], ids=["nearest", "truncated"]
)
def test_tf32_products_are_wrong_where_the_math_is_ieee(
    terms: int, narrowed: Callable[[Array], Array]
) -> None:
    a, b, exact = factors(terms)
    actual = narrowed(a).astype(np.float64) @ narrowed(b).astype(np.float64)
    found = verdict(exact, actual, inputs=("float32", "float32"))
    assert not found.right
    assert min(found.rms, found.largest) > 2e-4


@pytest.mark.parametrize("at_a_time", [1, 16], ids=["by_term", "by_instruction"])
@pytest.mark.parametrize("terms", [16, 512, 4096])
def test_float16_sums_are_wrong_where_the_output_is_float32(terms: int, at_a_time: int) -> None:
    a, b, exact = factors(terms, "float16")
    inputs = ("float16", "float16")
    assert verdict(exact, a.astype(np.float32) @ b.astype(np.float32), inputs=inputs).right
    assert not verdict(exact, summed(a, b, at_a_time, to_half), inputs=inputs).right


def test_sums_of_tensor_cores_are_right_for_inputs_of_16_bits_alone() -> None:
    a, b, exact = factors(16384, "float16")
    actual = summed(a, b, 16, toward_zero)
    found = verdict(exact, actual, inputs=("float16", "float16", "int32"))
    assert found.right, found.message
    assert not verdict(exact, actual, inputs=("float16", "float32")).right


def test_a_floor_of_the_spec_stands_above_that_of_the_dtypes() -> None:
    actual, inputs = ROWS * (1 + 1e-4), ("float16",)
    assert verdict(ROWS, ROWS + 1.5e-4, inputs=inputs).right
    for floor, right in ((1e-3, True), (1e-5, False)):
        assert verdict(ROWS, actual, inputs=inputs, tolerance={"floor": floor}).right is right
