"""What the types of a contract decide: which error is accepted, and what TF32 keeps of a value."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.dtypes import (
    DTYPES,
    error_floor,
    is_float,
    numpy_dtype,
    truncated_to_tf32,
    value_range,
)

Array = npt.NDArray[Any]
SINGLES = st.lists(st.floats(width=32), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("output", "inputs", "floor"),
    [
        ("float32", ["float32", "float32"], 4e-5),
        ("float32", ["float16", "float32"], 4e-5),
        ("float32", ["float64"], 4e-5),
        ("float32", ["float16", "float16"], 2e-4),
        ("float32", ["bfloat16", "int32"], 2e-4),
        ("float32", ["float8_e4m3fn", "float16"], 2e-4),
        ("float32", ["int8", "bool"], 4e-5),
        ("float32", [], 4e-5),
        ("float64", ["float16"], 1e-12),
        ("float16", ["float16"], 2e-3),
        ("int32", ["float16"], None),
    ],
)
def test_the_floor_follows_the_output_and_for_float32_the_widest_float_input(
    output: str, inputs: list[str], floor: float | None
) -> None:
    assert error_floor(output, inputs) == floor


@given(output=st.sampled_from(list(DTYPES)), inputs=st.lists(st.sampled_from(list(DTYPES))))
def test_no_input_makes_a_floor_lower_than_that_of_the_output(
    output: str, inputs: list[str]
) -> None:
    floor, own = error_floor(output, inputs), DTYPES[output].floor
    assert (floor is None) is (own is None)
    assert floor is None or own is None or floor >= own


def single(values: list[float]) -> Array:
    return np.array(values, np.float32)


@given(SINGLES)
def test_truncation_goes_toward_zero_by_less_than_a_step_and_only_once(
    values: list[float],
) -> None:
    given_values = single(values)
    cut = truncated_to_tf32(given_values)
    finite = np.isfinite(given_values)
    size, left = (np.abs(each[finite].astype(np.float64)) for each in (given_values, cut))
    least = float(np.finfo(np.float32).smallest_normal)
    assert np.all(left <= size)
    assert np.all(size - left < 2.0**-10 * np.maximum(size, least))
    np.testing.assert_array_equal(np.signbit(cut), np.signbit(given_values))
    np.testing.assert_array_equal(truncated_to_tf32(cut), cut)


def test_what_has_no_more_bits_stays_and_so_do_infinities_and_nan() -> None:
    kept = single([0.0, -0.0, 1.0, -1.5, 1 + 2.0**-10, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(truncated_to_tf32(kept).view(np.uint32), kept.view(np.uint32))
    low_nan = np.array([0x7F800001], np.uint32).view(np.float32)
    assert np.isnan(truncated_to_tf32(low_nan)).all(), "its mantissa has low bits alone"


def test_truncation_leaves_its_argument_and_its_shape() -> None:
    values = np.full((3, 4), 1 + 2.0**-20, np.float32)[:, ::2]
    values.flags.writeable = False
    cut = truncated_to_tf32(values)
    assert cut.shape == (3, 2)
    assert (cut == 1).all()


@pytest.mark.parametrize("name", DTYPES)
def test_the_range_of_a_type_is_what_it_holds(name: str) -> None:
    low, high = value_range(name)
    if name == "bool":
        assert (low, high) == (0, 1)
        return
    limits: Any = ml_dtypes.finfo if is_float(name) else np.iinfo
    found = limits(numpy_dtype(name))
    assert (low, high) == (found.min, found.max)
