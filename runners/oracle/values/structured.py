"""Other values than an init draws, of the same domain: what a kernel that reads all it is given
computes as well, and one that takes anything for known does not.

An init says what is usual, not what may be known: a weight of ones may hold other weights. Unless a
spec marks it `constant`, an input meets values of a wide generic law and values with a structure,
hidden between usual ones. They stay in what the init declares, as far as it declares something:

* `randn`: any finite number; the law has other means and deviations in each row;
* `uniform`, `randint`: within [low, high), which is a promise (an index stays an index);
* `zeros`, `ones`, `full` of floats: numbers of the value's sign about its size (about 1 where it is
  zero), as a sign is the least that a kernel may need of a scale, a variance or a divisor;
* those of integers: between zero and the value (zero and 1 where it is zero), as it may be a length
  or an index;
* `arange`, `file`: the same values in other places, or what grows in other steps (`given.py`).

More than that nobody can know of a domain, so what the baseline does not hold on is asked of no
candidate (`evaluation/trials.py`). What no seed decides has kinds of its own, in which all else is
usual: offsets that must not be moved do not excuse who reads half of a row. Nor do they excuse who
takes a weight for one: in one kind they grow as offsets do, and all else that is given is other.

Pure: the same kind, seed and usual values give the same values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...dtypes import is_float, numpy_dtype
from ...specs.contract import BoundArgument
from ...specs.io_contract import Argument, Contract, StressKind
from .given import EXACT, as_given
from .stress import limits_of, range_ends, stored

Array = npt.NDArray[Any]
STRUCTURED: Mapping[StressKind, str] = {
    "generic": "other means and spreads in each row",
    "spike": "usual values, and one far away in each row",
    "half": "half of each row far from the other half",
    "sorted": "rows in order, or in order as each of several threads reads them",
    "lone": "a constant, but for one value in each row",
    "few": "few values, so that many of a row are equal",
    "mixed": "nearly usual values, between which some rows have a spike, a shifted half or few",
    "unknown": "other values where the spec fills with constants, or the same in other places",
    "unlike": "one other value in each row of what the spec fills with constants, or two exchanged",
    "uneven": "what the spec makes grow grows in other steps; other values for its constants",
}
OF_DRAWN: tuple[StressKind, ...] = ("generic", "spike", "half", "sorted", "lone", "few")
OF_GIVEN: tuple[StressKind, ...] = ("unknown", "unlike")
OF_GROWING: tuple[StressKind, ...] = ("uneven",)
DRAWN = ("randn", "uniform", "randint")
STEPS = (0.7, 0.55, 0.25)
"""spreads by which halves lie off the middle: together within a range, and none undoes another"""
ALONG, ACROSS = 0.8, 0.36
"""shares of these steps within rows and from row to row, where there are several: with what is left
of usual values they stay within a range"""
FAR = 4.0
"""times as far where there is no range: beyond every tolerance of a sum, and no cancellation"""
LEAST_SPIKE = 30.0
"""spreads; in long rows 4 sqrt(length), so that a mean or a norm shows it"""
NARROWEST, WIDEST = 0.25, 2.0
SAME_SIGN = 1 / 16
"""of a constant's size: the least that stands in its place"""
APART = (0.12, 0.08, 0.05)
"""spreads by which rows of a mixture lie off the middle"""
ONE_ROW_IN = 8
GROUPS, ENDS = 8, 16
"""drawn numbers of threads that read a row in turn; largest and least values that one of them
meets"""
LEVELS = 4
"""values of a row of few, beside the middle"""
ROUND = 6
"""and how many round ones"""
SHORT = 6
"""bits of a spread that values have which stand in a row many times: their sums round seldom, in
double never. What rounds alike at each turn comes to more than any order of a sum allows another,
and most so for the plainest: 8e-12 of a double sum of 3e6, where drawn values come to 2e-13"""


@dataclass(frozen=True, slots=True)
class Law:
    """What is legal (`low` to `high`), and what is usual in it."""

    low: float
    high: float
    center: float
    spread: float
    bounded: bool = False
    """both ends are declared, or follow from what is"""


def structured_kinds(contract: Contract, *, most: bool) -> tuple[StressKind, ...]:
    """The kinds that change something: most of them, or those few that say most. None where every
    input is a known constant."""
    fillings = [a.filled for a in contract.arguments if a.role in ("input", "inout")]
    drawn = any(filled.kind in DRAWN for filled in fillings)
    given = any(filled.kind not in DRAWN and not filled.constant for filled in fillings)
    of_drawn: tuple[StressKind, ...] = OF_DRAWN if most else ("mixed",)
    of_given = OF_GIVEN if most else OF_GIVEN[:1]
    growing = OF_GROWING if any(map(_may_grow, contract.arguments)) else ()
    return (*(of_drawn if drawn else ()), *(of_given if given else ()), *growing)


def _may_grow(argument: Argument) -> bool:
    """Whether its values are given one by one and may have room between them for others."""
    filled = argument.filled
    if argument.role not in ("input", "inout") or filled.constant:
        return False
    has_room = is_float(argument.dtype) or abs(filled.scale) >= 2
    return filled.has_a_shape or (filled.kind == "arange" and has_room)


def structured(bound: BoundArgument, kind: StressKind, usual: Array, seed: int) -> Array:
    """Values of one kind in place of usual ones, of the same shape and dtype."""
    argument, rng = bound.argument, np.random.default_rng(seed)
    as_usual = (argument.filled.kind in DRAWN) is (kind in (*OF_GIVEN, *OF_GROWING))
    if as_usual or argument.filled.constant or not usual.size:
        return usual
    law = law_of(argument)
    if law is None:
        return as_given(argument.dtype, usual, kind, rng)
    wide = np.float32 if is_float(argument.dtype) and usual.itemsize <= 4 else np.float64
    rows = usual.astype(wide).reshape(-1, usual.shape[-1])
    made = np.clip(_MAKERS[kind](law, rows, rng), law.low, law.high)
    if is_float(argument.dtype):
        return stored(made, argument.dtype).reshape(usual.shape)
    return np.rint(made).astype(numpy_dtype(argument.dtype)).reshape(usual.shape)


def law_of(argument: Argument) -> Law | None:
    """What an input may hold besides what its init draws; None: its own values in other places."""
    init, floats = argument.filled, is_float(argument.dtype)
    if init.kind == "arange" or init.has_a_shape:
        return None
    if init.kind in ("zeros", "ones", "full"):
        value = {"zeros": 0.0, "ones": 1.0}.get(init.kind, init.value)
        if not math.isfinite(value) or abs(value) > EXACT:
            return None
        return _beside(value) if floats else _range(min(0.0, value), max(value, float(value >= 0)))
    if init.kind == "randn" and floats:
        largest = limits_of(argument.dtype).largest / 8
        return Law(-largest, largest, init.shift, abs(init.scale) or 1.0)
    low, high = range_ends(argument) if init.kind != "randn" else (0.0, 0.0)
    return _range(low, high) if low < high and max(abs(low), abs(high)) <= EXACT else None


def _beside(value: float) -> Law:
    """Numbers of a constant's sign and size."""
    if value == 0:
        return Law(-math.inf, math.inf, 0.0, 1.0)
    least, size = sorted((value * SAME_SIGN, value * math.inf)), abs(value)
    return Law(least[0], least[1], value, size / 2)


def _range(low: float, high: float) -> Law:
    return Law(low, high, (low + high) / 2, (high - low) / 4 or 1.0, bounded=True)


def _generic(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    if law.bounded:
        return _within(law, rows, rng)
    count = len(rows) if len(rows) > 1 else rows.shape[1]
    shape = (count, 1) if len(rows) > 1 else (1, count)
    centers = law.center + law.spread * rng.standard_normal(shape)
    exponents = rng.uniform(math.log(NARROWEST), math.log(WIDEST), shape)
    drawn = rng.standard_normal(rows.shape, dtype=rows.dtype.type)
    drawn *= (law.spread * np.exp(exponents)).astype(rows.dtype)
    drawn += centers.astype(rows.dtype)
    return drawn


def _within(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    """Every other value anywhere in a range, the rest in a part of it that each row has."""
    parts = np.sort(rng.uniform(law.low, law.high, (len(rows), 2)), axis=1)
    low, width = parts[:, :1], parts[:, 1:] - parts[:, :1]
    drawn = rng.random(rows.shape)
    anywhere = law.low + drawn * (law.high - law.low)
    made = np.where(rng.random(rows.shape) < 0.5, anywhere, low + drawn * width)
    return made.astype(rows.dtype)


def _spike(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    count, length = rows.shape
    places = cast(Any, rng.integers(0, length, count))
    size = law.spread * max(LEAST_SPIKE, 4 * math.sqrt(length))
    rows[np.arange(count), places] = law.center + size * rng.choice((-1.0, 1.0), count)
    return rows


def _half(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    """One half away from the other, three times over: the first from the second, every other place
    from its neighbours, and every other stretch of a length that is drawn; in each row one or the
    other half is the higher one. Whole rows differ from each other like that as well, less far.
    Whoever takes a part of a row, or of all rows, for the whole misses some of it."""
    count, length = rows.shape
    along, across = (1.0, 0.0) if count == 1 else (ALONG, ACROSS)
    if law.bounded:  # room for the steps
        rows = law.center + (rows - law.center) / (4 if count == 1 else 8)
    size = law.spread * (1 if law.bounded else FAR)
    if (
        count == 1 and not law.bounded
    ):  # else halves cancel in a sum, well in one order, ill in others
        rows += rows.dtype.type(size)
    for part, others, step in zip(_parts(length, rng), _parts(count, rng), STEPS, strict=True):
        higher: Any = part != rng.integers(0, 2, (count, 1))
        rows += np.where(higher, along * step * size, -along * step * size).astype(rows.dtype)
        lifted: Any = (others != rng.integers(0, 2))[:, None]
        rows += np.where(lifted, across * step * size, -across * step * size).astype(rows.dtype)
    return rows


def _parts(length: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Which places of a row lie in one half of it and which in the other, for each of STEPS."""
    places = cast(Any, np.arange(length))
    stretch = int(rng.integers(0, max(1, length.bit_length())))
    return 2 * places // length, places % 2, (places >> stretch) % 2


def _sorted(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    """Rows in order, up or down; of every other one only the ends, each with one of several threads
    that read the row in turn: who keeps the largest few of each thread loses some. What lies
    between is in no order, as every thread's sum would be large, and cancel another's."""
    del law
    rows.sort(axis=-1)
    first, dealt = int(rng.integers(0, 2)), rows.copy()
    for group in range(first, min(len(rows), first + 2 * GROUPS), 2):
        dealt[group :: 2 * GROUPS] = rows[group :: 2 * GROUPS, _dealt(rows.shape[1], rng)]
    if rng.random() < 0.5:
        rows = rows[:, ::-1].copy()
    rows[first::2] = dealt[first::2]
    return rows


def _dealt(length: int, rng: np.random.Generator) -> Any:
    """Which value of an ordered row each place gets: the largest lie in places that are equal
    modulo a power of two, the least in others of that kind, the rest anywhere."""
    hands = 2 ** int(rng.integers(1, max(2, (length - 1).bit_length())))
    places, drawn = cast(Any, np.arange(length)), cast(Any, rng.permutation(hands))
    high, low = places[drawn[0] :: hands][:ENDS], places[drawn[1] :: hands][:ENDS]
    rest = np.setdiff1d(places, np.append(high, low))
    found = cast(Any, np.empty(length, np.intp))
    found[high], found[low] = places[::-1][: high.size], places[: low.size]
    found[rest] = rng.permutation(places[low.size : length - high.size])
    return found


def _lone(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    count, length = rows.shape
    sign = rng.choice((-1.0, 1.0))
    usual, lone = _short(law, np.array([sign, -2 * sign]))
    rows[...] = usual
    rows[np.arange(count), rng.integers(0, length, count)] = lone
    return rows


def _few(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    """Each row of some values that are drawn for all, the least and the largest of them many times
    at drawn places: drawn numbers are hardly ever equal, and those of users often are. Most of them
    are round, as halves and quarters, which lie between two results or on an edge."""
    drawn = np.append(rng.uniform(-1, 1, LEVELS), 0.0)
    levels = np.append(_short(law, drawn), _short(law, rng.uniform(-1.5, 1.5, ROUND), bits=2))
    return rng.choice(levels.astype(rows.dtype), rows.shape)


def _short(
    law: Law, spreads: npt.NDArray[np.float64], bits: int = SHORT
) -> npt.NDArray[np.float64]:
    """Values so many spreads off the middle, of few bits."""
    step = 2.0 ** (math.floor(math.log2(law.spread)) - bits)
    return np.rint((law.center + law.spread * spreads) / step) * step


def _mixed(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    if len(rows) == 1:
        return _spike(law, _half(law, rows, rng), rng)
    rows = _apart(law, rows, rng)
    order: Array = rng.permutation(len(rows))
    chosen: Array = order[: max(len(MIXED), len(rows) // ONE_ROW_IN)]
    for number, maker in enumerate(MIXED):
        of_this = chosen[number :: len(MIXED)]
        if of_this.size:
            rows[of_this] = maker(law, rows[of_this], rng)
    return rows


def _apart(law: Law, rows: Array, rng: np.random.Generator) -> Array:
    """Rows a little higher or lower, as in `_half`, and each still as usual rows are: whoever takes
    every second row of a column for all of them is off by more than is tolerated."""
    if law.bounded:  # room for the steps
        rows = law.center + (rows - law.center) * (1 - sum(APART) / 2)
    for part, step in zip(_parts(len(rows), rng), APART, strict=True):
        higher: Any = (part != rng.integers(0, 2))[:, None]
        rows += np.where(higher, step * law.spread, -step * law.spread).astype(rows.dtype)
    return rows


MIXED = (_spike, _half, _few)


_MAKERS = {
    "generic": _generic,
    "spike": _spike,
    "half": _half,
    "sorted": _sorted,
    "lone": _lone,
    "few": _few,
    "mixed": _mixed,
    "unknown": _generic,
    "unlike": _spike,
    "uneven": _generic,
}
