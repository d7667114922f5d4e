"""Is this output right? Error against the fp64 reference, relative to the trusted error.

An output passes if its error is at most `factor` times the error of the trusted result (the
reference run in the contract's own dtypes) plus a floor. Errors are scaled by the RMS of the
reference's row, so that neither a large row hides a small one nor a value near zero asks for
more than its row has; the same is asked of the RMS over all elements. After the tests of
FlashAttention (twice the low-precision error).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .contract import BoundArgument
from .dtypes import DTYPES

Array = npt.NDArray[Any]
ROW_SHARE = 1e-3
"""A row whose RMS is below this share of the whole array's is scaled by that share."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The truth of one output and how far the trusted low-precision result is from it.

    `exact` is float64 for floats and the contract's dtype otherwise; `largest` and `rms` are
    scaled errors of the trusted result.
    """

    exact: Array
    scale: Array
    native: Array
    largest: float
    rms: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison of one output found; errors are scaled, dimensionless."""

    name: str
    right: bool
    largest: float
    allowed: float
    rms: float
    worst_index: tuple[int, ...] | None
    worst_value: str
    expected_value: str
    message: str


def expect(bound: BoundArgument, exact: Array, native: Array) -> Expected:
    """The truth from the reference's fp64 result and its native one (shapes checked before)."""
    if DTYPES[bound.argument.dtype].floor is None:
        return Expected(native, np.ones(()), native, 0.0, 0.0)
    exact = exact.astype(np.float64)
    scale = _row_scale(exact)
    error = _scaled_error(native, exact, scale)
    return Expected(exact, scale, native, _largest(error), _rms(error))


def judge(bound: BoundArgument, expected: Expected, actual: Array) -> Verdict:
    """Compare one output, of the contract's shape and dtype, with the truth."""
    tolerance = bound.argument.tolerance
    floor = DTYPES[bound.argument.dtype].floor
    if floor is None:
        return _judge_exact(bound, expected, actual)
    if tolerance.floor is not None:
        floor = tolerance.floor
    pattern = _pattern_mismatch(expected, actual)
    if pattern is not None:
        return _wrong(bound, expected, actual, pattern, np.inf, np.inf, "NaN or Inf differs")
    error = _scaled_error(actual, expected.exact, expected.scale)
    largest, rms = _largest(error), _rms(error)
    allowed = tolerance.factor * expected.largest + floor
    allowed_rms = tolerance.factor * expected.rms + floor
    worst = _worst(error)
    if largest > allowed or rms > allowed_rms:
        message = (
            f"error {largest:.3g} (allowed {allowed:.3g}), "
            f"RMS {rms:.3g} (allowed {allowed_rms:.3g})"
        )
        return _wrong(bound, expected, actual, worst, largest, rms, message, allowed)
    return Verdict(
        bound.name, True, largest, allowed, rms, worst, *_values(actual, expected, worst), ""
    )


def _judge_exact(bound: BoundArgument, expected: Expected, actual: Array) -> Verdict:
    differing = np.argwhere(actual != expected.native)
    if not len(differing):
        return Verdict(bound.name, True, 0.0, 0.0, 0.0, None, "", "", "")
    worst = tuple(int(i) for i in differing[0])
    share = len(differing) / max(1, actual.size)
    message = f"{len(differing)} of {actual.size} elements differ ({share:.1%})"
    return _wrong(bound, expected, actual, worst, 1.0, share, message)


def _wrong(
    bound: BoundArgument,
    expected: Expected,
    actual: Array,
    worst: tuple[int, ...] | None,
    largest: float,
    rms: float,
    message: str,
    allowed: float = 0.0,
) -> Verdict:
    values = _values(actual, expected, worst)
    where = "" if worst is None else f" at {bound.name}{list(worst)}: {values[0]}, not {values[1]}"
    return Verdict(
        bound.name, False, float(largest), allowed, float(rms), worst, *values, message + where
    )


def _row_scale(exact: Array) -> Array:
    finite = np.where(np.isfinite(exact), exact, 0.0)
    peak = float(np.abs(finite).max()) if finite.size else 0.0
    if peak == 0.0:
        return np.ones(())
    squares = np.square(finite / peak)  # squares of the values themselves leave float64's range
    rows = np.sqrt(np.mean(squares, axis=-1, keepdims=True))
    scale = peak * np.maximum(rows, ROW_SHARE * np.sqrt(np.mean(squares)))
    return np.maximum(scale, np.finfo(np.float64).tiny)


def _scaled_error(actual: Array, exact: Array, scale: Array) -> Array:
    """|actual - exact| / scale; zero where either is not finite (the pattern decides)."""
    with np.errstate(invalid="ignore", over="ignore"):
        wide = actual.astype(np.float64)
        error = np.abs(wide - exact) / scale
    return np.where(np.isfinite(exact) & np.isfinite(wide), error, 0.0)


def _pattern_mismatch(expected: Expected, actual: Array) -> tuple[int, ...] | None:
    """The first place where NaN, +Inf or -Inf is neither the trusted result's nor the truth's.

    The truth counts as well: a kernel may keep finite what overflowed in the trusted result.
    """
    found = _pattern(actual)
    with np.errstate(over="ignore", invalid="ignore"):
        truth = _pattern(expected.exact.astype(actual.dtype))
    where = np.argwhere((found != _pattern(expected.native)) & (found != truth))
    return tuple(int(i) for i in where[0]) if len(where) else None


def _pattern(values: Array) -> Array:
    """0 where finite, 1 for NaN, 2 for +Inf, 3 for -Inf."""
    wide = values.astype(np.float64)
    return np.select([np.isnan(wide), np.isposinf(wide), np.isneginf(wide)], [1, 2, 3], 0)


def _worst(error: Array) -> tuple[int, ...] | None:
    if not error.size:
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))


def _values(actual: Array, expected: Expected, at: Sequence[int] | None) -> tuple[str, str]:
    if at is None:
        return "", ""
    index = tuple(at)
    return _shown(actual[index]), _shown(expected.exact[index])


def _shown(value: Any) -> str:
    return str(value) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.9g}"


def _largest(error: Array) -> float:
    return float(error.max()) if error.size else 0.0


def _rms(error: Array) -> float:
    peak = _largest(error)
    if peak == 0.0 or not np.isfinite(peak):
        return peak
    return peak * float(np.sqrt(np.mean(np.square(error / peak))))
