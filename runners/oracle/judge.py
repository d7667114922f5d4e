"""Is this output right? Error against the fp64 reference, relative to the trusted error.

An output passes if its error is at most `factor` times the error of the trusted result (the
reference run in the contract's own dtypes) plus a floor. Errors are scaled by the RMS of the
reference's row, so that neither a large row hides a small one nor a value near zero asks for
more than its row has, and by the element itself where it is larger: nobody computes the peaks of a
softmax more exactly than their own rounding. The same is asked of the RMS over all elements. After
the tests of FlashAttention (twice the low-precision error).

The arrays are those of one library, on the host or on a GPU, and stay there: what leaves them
is a handful of numbers.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import numpy_dtype
from ..specs.contract import BoundArgument
from ..wording import NOT_A_NUMBER
from .arrays import ArrayLibrary
from .messages import OutputVerdict

NO_BOOL = "a byte that is neither 0 nor 1"
ROW_SHARE = 1e-3
"""A row whose RMS is below this share of the whole array's is scaled by that share."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The truth of one output and how far the trusted low-precision result is from it.

    `exact` is float64 for floats and stored in the contract's dtype otherwise, as `native` always
    is; `finite` says whether all of `native` is. `largest` and `rms` are scaled errors of the
    trusted result, `floor` the scaled error that is accepted in any case (None: bits are compared).
    """

    library: ArrayLibrary
    exact: Any
    scale: Any
    native: Any
    finite: bool
    largest: float
    rms: float
    floor: float | None

    @property
    def nbytes(self) -> int:
        """Memory that it holds."""
        arrays = (self.exact, self.native) if self.exact is not self.native else (self.exact,)
        return sum(int(array.nbytes) for array in arrays)


def expect(
    library: ArrayLibrary, bound: BoundArgument, exact: Any, native: Any, floor: float | None
) -> Expected:
    """The truth from the reference's fp64 result and its native one, the latter stored.

    Both have the contract's shape; `floor` is `BoundContract.error_floor` of the output.
    """
    if floor is None:
        return Expected(library, native, 1.0, native, True, 0.0, 0.0, None)
    with np.errstate(all="ignore"):
        exact = library.float64(exact)
        wide = library.float64(native, bound.argument.dtype)
        scale = _row_scale(library.xp, exact)
        error = _scaled_error(library.xp, wide, exact, scale)
        finite = bool(library.xp.isfinite(wide).all())
        return Expected(library, exact, scale, native, finite, _largest(error), _rms(error), floor)


def judge(bound: BoundArgument, expected: Expected, actual: Any) -> OutputVerdict:
    """Compare one output, stored, of the contract's shape and dtype, with the truth."""
    if expected.floor is None:
        return _judge_exact(bound, expected, actual)
    with np.errstate(all="ignore"):
        wide = expected.library.float64(actual, bound.argument.dtype)
        return _judge_error(bound, expected, wide, expected.floor)


def _judge_error(
    bound: BoundArgument, expected: Expected, wide: Any, floor: float
) -> OutputVerdict:
    factor = bound.argument.tolerance.factor
    allowed = factor * expected.largest + floor
    allowed_rms = factor * expected.rms + floor
    found = _Found(bound, wide, expected.exact, allowed)
    place = _pattern_mismatch(bound, expected, wide)
    if place is not None:
        found = _Found(bound, wide, expected.exact, 0.0)
        return found.wrong(place, math.inf, math.inf, NOT_A_NUMBER)
    error = _scaled_error(expected.library.xp, wide, expected.exact, expected.scale)
    largest, rms, worst = _largest(error), _rms(error), _worst(error)
    if largest > allowed or rms > allowed_rms:
        message = (
            f"error {largest:.3g} (allowed {allowed:.3g}), "
            f"RMS {rms:.3g} (allowed {allowed_rms:.3g})"
        )
        return found.wrong(worst, largest, rms, message)
    return found.verdict(worst, largest, rms, "")


def _judge_exact(bound: BoundArgument, expected: Expected, actual: Any) -> OutputVerdict:
    differing = expected.library.differ(actual, expected.native)
    count, size = int(differing.sum()), math.prod(bound.shape)
    found = _Found(bound, actual, expected.exact, 0.0)
    if not count:
        return found.verdict(None, 0.0, 0.0, "")
    share = count / size
    message = f"{count} of {size} elements differ ({share:.1%})"
    return found.wrong(_first(expected.library.xp, differing), 1.0, share, message)


@dataclass(frozen=True, slots=True)
class _Found:
    """What verdicts of one output are made of."""

    bound: BoundArgument
    actual: Any
    exact: Any
    allowed: float

    def verdict(
        self, worst: tuple[int, ...] | None, largest: float, rms: float, message: str
    ) -> OutputVerdict:
        """The verdict; an output is right if there is nothing to say."""
        value, wanted = ("", "") if worst is None else self._values(worst)
        return OutputVerdict(
            name=self.bound.name,
            right=not message,
            largest=largest,
            allowed=self.allowed,
            rms=rms,
            worst_index=worst,
            worst_value=value,
            expected_value=wanted,
            message=message,
        )

    def wrong(
        self, worst: tuple[int, ...] | None, largest: float, rms: float, message: str
    ) -> OutputVerdict:
        """The verdict on a wrong output, with the place and both values."""
        if worst is not None:
            value, wanted = self._values(worst)
            message += f" at {self.bound.name}{list(worst)}: {value}, not {wanted}"
        return self.verdict(worst, largest, rms, message)

    def _values(self, place: tuple[int, ...]) -> tuple[str, str]:
        value, wanted = self.actual[place].item(), self.exact[place].item()
        neither = isinstance(value, bool) and value is wanted
        return NO_BOOL if neither else _shown(value), _shown(wanted)


def _row_scale(xp: Any, exact: Any) -> Any:
    finite = xp.where(xp.isfinite(exact), exact, 0.0)
    peak = _largest(abs(finite))
    if peak == 0.0:
        return 1.0
    squares = (finite / peak) ** 2  # squares of the values themselves leave float64's range
    least = ROW_SHARE * math.sqrt(float(squares.mean()))
    rows = xp.sqrt(squares.mean(axis=-1, keepdims=True))
    return (peak * rows.clip(least)).clip(sys.float_info.min)


def _scaled_error(xp: Any, wide: Any, exact: Any, scale: Any) -> Any:
    """|wide - exact| over the larger of the row's scale and |exact|; zero where either value is not
    finite (the pattern decides)."""
    size = abs(exact)
    error = abs(wide - exact) / xp.where(size > scale, size, scale)
    return xp.where(xp.isfinite(exact) & xp.isfinite(wide), error, 0.0)


def _pattern_mismatch(
    bound: BoundArgument, expected: Expected, wide: Any
) -> tuple[int, ...] | None:
    """The first place where NaN, +Inf or -Inf is neither the trusted result's nor the truth's.

    The truth counts as well, rounded and not: a kernel may keep finite what overflowed in the
    trusted result, and conversions to fp8 saturate on some paths. The error is judged then.
    """
    xp, exact = expected.library.xp, expected.exact
    if expected.finite and bool(xp.isfinite(wide).all()):
        return None
    limit, beyond = _overflow(bound.argument.dtype)
    truth = xp.where(exact >= limit, beyond, xp.where(exact <= -limit, -beyond, exact))
    trusted = expected.library.float64(expected.native, bound.argument.dtype)
    differing = ~(_alike(xp, wide, trusted) | _alike(xp, wide, truth) | _alike(xp, wide, exact))
    return _first(xp, differing) if bool(differing.any()) else None


def _alike(xp: Any, a: Any, b: Any) -> Any:
    """Where both are finite, both NaN, or the same infinity."""
    return (xp.isfinite(a) & xp.isfinite(b)) | (a == b) | (xp.isnan(a) & xp.isnan(b))


@cache
def _overflow(dtype: str) -> tuple[float, float]:
    """The least magnitude that rounds to nothing finite, and what it becomes: Inf or NaN."""
    import ml_dtypes

    if dtype == "float64":
        return math.inf, math.inf
    kind = numpy_dtype(dtype)
    limits_of: Any = ml_dtypes.finfo
    top = np.array([limits_of(kind).max], kind)
    bits = np.dtype(f"u{kind.itemsize}")
    below = (top.view(bits) - np.ones(1, bits)).view(kind)
    edge = (3 * top.astype(np.float64) - below.astype(np.float64)) / 2  # half a step beyond
    with np.errstate(over="ignore"):
        if np.isfinite(edge.astype(kind).astype(np.float64))[0]:  # a tie that goes to the top
            edge = np.nextafter(edge, np.inf)
        beyond = (2 * edge).astype(kind).astype(np.float64)
    return float(edge[0]), float(beyond[0])


def _first(xp: Any, mask: Any) -> tuple[int, ...]:
    """The index of the first true element."""
    flat = xp.asarray(mask.reshape(-1), dtype=xp.uint8)  # torch finds no maximum of bools
    return _index(int(flat.argmax()), mask)


def _worst(error: Any) -> tuple[int, ...] | None:
    return None if 0 in error.shape else _index(int(error.argmax()), error)


def _index(flat: int, array: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, tuple(array.shape)))


def _shown(value: float | bool) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _largest(error: Any) -> float:
    return 0.0 if 0 in error.shape else float(error.max())


def _rms(error: Any) -> float:
    peak = _largest(error)
    if peak == 0.0 or not math.isfinite(peak):
        return peak
    return peak * math.sqrt(float(((error / peak) ** 2).mean()))
