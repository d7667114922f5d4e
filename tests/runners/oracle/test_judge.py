"""When an output is right: error against the truth, relative to the trusted result's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_cases import ROWS, verdict

from kernelwright.runners.dtypes import DTYPES, numpy_dtype

Array = npt.NDArray[Any]
LOW = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def test_the_trusted_result_itself_is_right() -> None:
    found = verdict(ROWS, ROWS)
    assert found.right
    assert 0 < found.largest < found.allowed
    assert found.message == ""


@pytest.mark.parametrize("dtype", [d for d in DTYPES if DTYPES[d].floor is not None])
def test_rounding_to_the_dtype_is_right_in_every_float_type(dtype: str) -> None:
    assert verdict(ROWS, ROWS, dtype=dtype).right


@pytest.mark.parametrize(
    ("dtype", "narrower"),
    [
        ("float64", "float32"),
        ("float32", "float16"),
        ("float32", "bfloat16"),
        ("float16", "float8_e4m3fn"),
        ("bfloat16", "float8_e4m3fn"),
    ],
)
def test_computing_in_the_next_narrower_type_is_wrong(dtype: str, narrower: str) -> None:
    found = verdict(ROWS, ROWS.astype(numpy_dtype(narrower)), dtype=dtype)
    assert not found.right
    assert found.largest > found.allowed


@pytest.mark.parametrize("dtype", LOW)
def test_a_wrong_element_is_found_in_low_precision_too(dtype: str) -> None:
    actual = ROWS.copy()
    actual[2, 5] += 3.0
    found = verdict(ROWS, actual, dtype=dtype)
    assert not found.right
    assert found.worst_index == (2, 5)


def test_errors_are_relative_to_the_rms_of_their_own_row() -> None:
    exact = np.ones((2, 8))
    exact[0] *= 100.0
    small, large = exact.copy(), exact.copy()
    small[0, 3] += 0.05
    large[1, 3] += 0.05
    tolerance = {"factor": 0, "floor": 1e-3}
    assert verdict(exact, small, tolerance=tolerance).right
    found = verdict(exact, large, tolerance=tolerance)
    assert not found.right
    assert found.largest == pytest.approx(0.05, rel=1e-3)
    assert found.worst_index == (1, 3)


def test_a_value_near_zero_is_judged_by_its_row_and_not_by_itself() -> None:
    exact = np.array([[1.0, 1e-9, -1.0, 1.0]])
    actual = np.array([[1.0, 2e-7, -1.0, 1.0]])
    assert verdict(exact, actual).right


def test_a_peak_far_above_its_row_is_judged_by_its_own_size() -> None:
    exact = np.full((1, 2048), 5e-4)
    exact[0, 7] = 0.0275
    close, far = exact.copy(), exact.copy()
    close[0, 7] *= 1 + 2e-6  # as exact as a sum of 2048 exponentials, one after the other
    far[0, 7] *= 1 + 2e-4
    assert verdict(exact, close).right
    assert not verdict(exact, far).right


def test_a_row_of_almost_nothing_is_scaled_by_a_share_of_the_whole() -> None:
    exact = np.ones((2, 8))
    exact[1] = 1e-12
    actual = exact.copy()
    actual[1] = 3e-9
    assert verdict(exact, actual).right
    actual[1] = 1e-4
    assert not verdict(exact, actual).right


def test_the_allowed_error_grows_with_the_trusted_results_error() -> None:
    native = ROWS + 1e-3
    actual = ROWS + 1.5e-3
    assert not verdict(ROWS, actual).right
    found = verdict(ROWS, actual, native)
    assert found.right
    assert not verdict(ROWS, actual, native, tolerance={"factor": 1.0}).right
    assert not verdict(ROWS, ROWS + 3e-3, native).right


def test_many_small_errors_fail_by_rms_where_one_would_pass() -> None:
    native, one = ROWS.copy(), ROWS.copy()
    native[0, 0] += 0.01
    one[0, 1] += 0.015
    assert verdict(ROWS, one, native).right
    found = verdict(ROWS, ROWS + 0.005, native)
    assert not found.right
    assert found.largest < found.allowed
    assert "RMS" in found.message


def test_the_message_names_the_place_and_both_values() -> None:
    actual = ROWS.copy()
    actual[1, 2] = 9.0
    found = verdict(ROWS, actual)
    assert found.worst_index == (1, 2)
    assert found.worst_value == "9"
    assert f"at y[1, 2]: 9, not {ROWS[1, 2]:.9g}" in found.message


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_where_the_truth_is_finite_is_wrong(value: float) -> None:
    actual = ROWS.copy()
    actual[3, 7] = value
    found = verdict(ROWS, actual)
    assert not found.right
    assert found.worst_index == (3, 7)
    assert found.message.startswith("NaN or Inf differs at y[3, 7]")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_finite_value_where_the_truth_is_not_finite_is_wrong(value: float) -> None:
    exact = ROWS.copy()
    exact[0, 1] = value
    assert verdict(exact, exact).right
    for other in (0.0, np.nan, np.inf, -np.inf):
        actual = exact.copy()
        actual[0, 1] = other
        assert verdict(exact, actual).right is (str(other) == str(value))


def test_values_that_are_not_finite_hide_no_error_beside_them() -> None:
    exact = ROWS.copy()
    exact[0, 1] = np.inf
    actual = exact.copy()
    actual[0, 2] += 1.0
    assert verdict(exact, actual).worst_index == (0, 2)


def test_what_overflowed_in_the_trusted_result_may_stay_finite_or_overflow() -> None:
    exact = np.full((1, 4), 1000.0)
    native = exact.copy()
    native[0, 2] = np.inf  # an intermediate left float16's range
    assert verdict(exact, exact, native, dtype="float16").right
    assert verdict(exact, native, native, dtype="float16").right
    nan = native.copy()
    nan[0, 2] = np.nan
    assert not verdict(exact, nan, native, dtype="float16").right


def test_fp8_may_saturate_or_turn_to_nan_where_the_truth_is_out_of_range() -> None:
    exact = np.full((1, 4), 470.0)
    saturated, nan = np.full((1, 4), 448.0), np.full((1, 4), np.nan)
    for trusted in (saturated, nan):
        assert verdict(exact, saturated, trusted, dtype="float8_e4m3fn").right
        assert verdict(exact, nan, trusted, dtype="float8_e4m3fn").right
        assert not verdict(exact, -saturated, trusted, dtype="float8_e4m3fn").right


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_values_whose_squares_leave_the_range_are_judged_all_the_same(size: float) -> None:
    exact = np.full((2, 4), size)
    assert verdict(exact, exact, dtype="float64").right
    assert not verdict(exact, 0 * exact, dtype="float64").right
    assert not verdict(exact, -exact, dtype="float64").right


def test_an_error_beyond_the_range_is_wrong() -> None:
    exact = np.full((1, 4), -1.7e308)
    assert not verdict(exact, -exact, dtype="float64").right


def test_where_all_is_zero_the_error_is_absolute() -> None:
    exact = np.zeros((2, 3))
    assert verdict(exact, exact).right
    assert verdict(exact, exact + 1e-7).right
    assert not verdict(exact, exact + 1e-3).right


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 2)])
def test_an_output_without_elements_is_right(dtype: str, shape: tuple[int, ...]) -> None:
    found = verdict(np.zeros(shape), np.zeros(shape), dtype=dtype)
    assert found.right
    assert found.worst_index is None


@pytest.mark.parametrize("dtype", [d for d in DTYPES if DTYPES[d].floor is None])
def test_integers_and_bools_are_compared_exactly(dtype: str) -> None:
    exact = np.array([[0, 1, 1], [1, 0, 1]])
    assert verdict(exact, exact, dtype=dtype).right
    actual = exact.copy()
    actual[1, 1] = 1
    found = verdict(exact, actual, dtype=dtype, tolerance={"factor": 9, "floor": 9})
    assert not found.right
    assert found.worst_index == (1, 1)
    assert "1 of 6 elements differ" in found.message


@pytest.mark.parametrize("poison", [0xFF, 0xA5, 2])
def test_a_bool_that_nobody_wrote_is_wrong_even_where_true_was_wanted(poison: int) -> None:
    exact = np.ones((2, 3), dtype=np.bool_)
    actual = exact.view(np.uint8).copy()
    actual[1, 2] = poison
    found = verdict(exact, actual.view(np.bool_), dtype="bool")
    assert not found.right
    assert found.worst_index == (1, 2)
    assert "a byte that is neither 0 nor 1, not True" in found.message


def test_large_integers_are_shown_with_every_digit() -> None:
    exact = np.array([2**62])
    found = verdict(exact, exact + 1, dtype="int64")
    assert not found.right
    assert found.worst_value == str(2**62 + 1)
    assert found.expected_value == str(2**62)


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=12),
    st.floats(1e-3, 1e3),
)
def test_the_verdict_does_not_change_with_the_unit(values: list[int], unit: float) -> None:
    exact = np.array([values], dtype=np.float64)
    if not exact.any():
        return
    actual = exact + 3e-5 * np.abs(exact).max()
    first = verdict(exact, actual, dtype="float64")
    other = verdict(exact * unit, actual * unit, dtype="float64")
    assert first.right is other.right is False
    assert other.largest == pytest.approx(first.largest, rel=1e-6)
