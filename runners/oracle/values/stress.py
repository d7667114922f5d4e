"""Stress values: inputs that are legal and unkind, where the numerics of a kernel show.

Each kind is a question: is a row of zeros divided by zero, does a large mean swamp what varies,
are small results of large terms lost, are denormals flushed, does a square overflow, does one
scale hide another? Only arrays that the contract fills with unbounded values (`randn` floats) get
values that their init would not draw; `uniform` and `randint` keep to their range, whose ends
they take; constants, ranges and files stay as they are.

Pure: the same kind, seed and shape give the same values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...dtypes import is_float, numpy_dtype
from ...specs.contract import BoundArgument, BoundContract
from ...specs.io_contract import Argument, Contract, StressKind

Array = npt.NDArray[Any]
KINDS: Mapping[StressKind, str] = {
    "zeros": "every value is zero",
    "offset": "a large offset beside what varies",
    "cancellation": "large terms that cancel and leave small ones",
    "tiny": "values about the smallest normal number, most of them denormal",
    "large": "values of a million, or an eighth of a narrower type's range",
    "wide": "rows of scales from 1e-3 to 64 side by side",
    "special": "a few Inf, -Inf, NaN and -0",
    "exchanged": "usual values, a few of which have changed places",
}
FREE: tuple[StressKind, ...] = ("zeros", "offset", "cancellation", "tiny", "large", "wide")
BOUNDED: tuple[StressKind, ...] = ("zeros", "offset", "wide")
"""Where every array is bounded the other kinds would bring the same ends and constants again."""
NOT_ASKED: Mapping[str, tuple[StressKind, ...]] = {
    "ieee": (),
    "tf32": ("cancellation",),
    "fast": ("cancellation", "tiny"),
}
"""What a contract's math gives away: TF32 rounds the terms, fast code sums in any order and may
flush denormals."""

OFFSET = 1000.0
RESOLVED = 0.05
"""An offset of this over the type's epsilon leaves 20 steps to a standard deviation."""
LARGE = 1e6
"""Far beyond what exponentials and 16-bit squares hold, and near enough for the usual trick of
an exponential whose maximum is multiplied before it is subtracted."""
LARGE_SHARE = 1 / 8
"""Of a narrow type's range: normal values beyond eight deviations do not occur."""
NARROWEST, WIDEST = 1e-3, 64.0
LEFT_OVER = 2.0**-10
"""What cancelling pairs leave, as a share of their size, where the type resolves it."""
EXCHANGES = 16
ONE_IN = 256
"""elements: how often a special value is sprinkled"""


@dataclass(frozen=True, slots=True)
class Stress:
    """One kind for all arrays of a contract. `pairing`: shared by them, decides what cancels."""

    kind: StressKind
    pairing: int
    lead: str
    """the first unbounded array: where pairs cancel; those of the others are equal"""


def kinds_for(contract: Contract) -> tuple[StressKind, ...]:
    """The kinds that change something and that a contract allows."""
    inputs = [a for a in contract.arguments if a.role in ("input", "inout")]
    kinds: tuple[StressKind, ...] = ()
    if any(_is_free(a) for a in inputs):
        kinds = FREE
    elif any(a.filled.kind in ("uniform", "randint") for a in inputs):
        kinds = BOUNDED
    kinds = tuple(k for k in kinds if k not in NOT_ASKED[contract.math])
    return (*kinds, "special") if any(a.nonfinite for a in inputs) else kinds


def stress_of(contract: BoundContract, kind: StressKind, seed: int) -> Stress:
    """The stress of one kind and seed."""
    free = [a.name for a in contract.inputs if _is_free(a.argument)]
    return Stress(kind, seed, free[0] if free else "")


def stressed(bound: BoundArgument, stress: Stress, seed: int) -> Array | None:
    """Values of the contract's dtype and shape; None: this array stays as its init draws it."""
    argument = bound.argument
    if stress.kind == "exchanged":
        return None
    if stress.kind == "special":
        if not argument.nonfinite:
            return None
        return stored(_sprinkled(bound, np.random.default_rng(seed)), argument.dtype, finite=False)
    if _is_free(argument):
        values = _free_values(bound, stress, np.random.default_rng(seed))
        return stored(values, argument.dtype)
    if argument.filled.kind in ("uniform", "randint"):
        return _bounded_values(bound, stress.kind, np.random.default_rng(seed))
    return None


def exchanged(argument: Argument, values: Array, seed: int) -> Array:
    """Values of which a few have changed places, never the first or the last.

    For what remembers a result by some values, by their sum or by where they lie. What no seed
    decides stays in its order, which may mean something.
    """
    if argument.filled.kind not in ("randn", "uniform", "randint") or values.size < 4:
        return values
    places = np.random.default_rng(seed).integers(1, values.size - 1, (EXCHANGES, 2))
    flat = values.reshape(-1).copy()
    for a, b in places:
        flat[a], flat[b] = flat[b], flat[a]
    return flat.reshape(values.shape)


def _is_free(argument: Argument) -> bool:
    return is_float(argument.dtype) and argument.filled.kind == "randn"


def _free_values(bound: BoundArgument, stress: Stress, rng: np.random.Generator) -> Array:
    init, limits = bound.argument.filled, limits_of(bound.argument.dtype)
    kind = np.float64 if bound.argument.dtype == "float64" else np.float32
    drawn = rng.standard_normal(bound.shape, dtype=kind)
    usual = drawn * kind(init.scale) + kind(init.shift)
    match stress.kind:
        case "zeros":
            return np.zeros(bound.shape, kind)
        case "offset":
            spread = abs(init.scale) or 1.0
            return usual + kind(spread * max(1.0, min(OFFSET, RESOLVED / limits.epsilon)))
        case "cancellation":
            cancels = bound.name == stress.lead
            return _cancelling(drawn, stress.pairing, limits) if cancels else _paired(usual, stress)
        case "tiny":
            return drawn * kind(limits.smallest_normal)
        case "large":
            return drawn * kind(min(LARGE, limits.largest * LARGE_SHARE))
        case "wide":
            return usual * _row_scales(bound.shape, rng).astype(kind)
        case _:
            return usual


def _cancelling(drawn: Array, pairing: int, limits: Limits) -> Array:
    """z and small - z in random places of each row: their sum is small, in whatever order."""
    values = drawn.copy()
    first, second = _pairs(pairing, drawn.shape[-1])
    small = max(LEFT_OVER, 4 * limits.epsilon)
    values[..., second] = values[..., second] * drawn.dtype.type(small) - values[..., first]
    return values


def _paired(usual: Array, stress: Stress) -> Array:
    """Equal values at both places of every pair, along each axis: products cancel, too."""
    places = list[npt.NDArray[np.intp]]()
    for size in usual.shape:
        first, second = _pairs(stress.pairing, size)
        place = np.arange(size, dtype=np.intp)
        place[second] = first
        places.append(place)
    return usual[np.ix_(*places)]


def _pairs(pairing: int, size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Two random halves of an axis; arrays that share a length share its pairs."""
    order = np.random.default_rng((pairing, size)).permutation(size)
    half = size // 2
    return order[:half], order[half : 2 * half]


def _row_scales(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """A scale for each row; of an array of one row, for each element."""
    rows = (*shape[:-1], 1) if math.prod(shape[:-1]) > 1 else shape
    return np.exp(rng.uniform(math.log(NARROWEST), math.log(WIDEST), rows))


def _sprinkled(bound: BoundArgument, rng: np.random.Generator) -> Array:
    init = bound.argument.filled
    values = rng.standard_normal(bound.shape) * init.scale + init.shift
    flat = values.reshape(-1)
    for special in (math.inf, -math.inf, math.nan, -0.0):
        count = -(-flat.size // ONE_IN)
        flat[rng.integers(0, flat.size, count if flat.size else 0)] = special
    return values


def _bounded_values(bound: BoundArgument, kind: StressKind, rng: np.random.Generator) -> Array:
    """The ends of a range and constants within it."""
    low, high = range_ends(bound.argument)
    dtype = numpy_dtype(bound.argument.dtype)
    if kind == "zeros":
        return np.full(bound.shape, min(max(0, low), high), dtype)
    if kind in ("offset", "tiny"):
        return np.full(bound.shape, high, dtype)
    ends = np.array([low, high], dtype)
    return ends[rng.integers(0, 2, bound.shape)]


def range_ends(argument: Argument) -> tuple[float, float]:
    """The least and the largest value that an init draws, both stored exactly."""
    init = argument.filled
    if init.kind == "randint" or not is_float(argument.dtype):
        low = math.ceil(init.low)
        return low, max(low, math.ceil(init.high) - 1)
    dtype = numpy_dtype(argument.dtype)
    low, high = (_rounded_into(init.low, init, dtype, up=True), init.high)
    return low, max(low, _rounded_into(high, init, dtype, up=False))


def _rounded_into(end: float, init: Any, dtype: np.dtype[Any], *, up: bool) -> float:
    """The end of a range as the nearest stored value within it; the upper end is exclusive."""
    value = np.array(end, np.float64).astype(dtype)
    outside = float(value) < init.low if up else float(value) >= init.high
    if outside:
        toward = np.array(math.inf if up else -math.inf, np.float64).astype(dtype)
        value = np.nextafter(value, toward)
    return float(value)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a float dtype."""

    largest: float
    epsilon: float
    smallest_normal: float


def limits_of(dtype: str) -> Limits:
    """What a float dtype holds."""
    import ml_dtypes

    found: Any = cast(Any, ml_dtypes).finfo(numpy_dtype(dtype))
    return Limits(float(found.max), float(found.eps), float(found.smallest_normal))


def stored(values: Array, dtype: str, *, finite: bool = True) -> Array:
    """Values of a dtype; finite ones stay within its range."""
    if finite:
        largest = limits_of(dtype).largest
        values = np.clip(values, -largest, largest)
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(values.astype(numpy_dtype(dtype)))
