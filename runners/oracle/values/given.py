"""Values that a spec gives one by one (`arange`, `file`, `data`), as other callers would give them.

No law says which others are legal, so they stay what they are: the same ones in other places, two
of them exchanged, or, of what only grows (offsets of rows, edges of bins, a sorted table), numbers
that grow between the same ends in other steps. Who takes such a row for evenly spaced is right on
what the spec gives and on nothing else.

Pure: the same kind, values and generator give the same values.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...dtypes import is_float
from ...specs.io_contract import StressKind
from .stress import stored

Array = npt.NDArray[Any]
EXACT = 2.0**53
"""integers beyond this are moved about and not computed with"""
LEAST_STEP, MOST_STEP = 0.25, 1.75
"""of even steps of floats: how far uneven ones go"""


def as_given(dtype: str, usual: Array, kind: StressKind, rng: np.random.Generator) -> Array:
    """Given values, changed: two of each row exchanged (`unlike`), in uneven steps (`uneven`, as
    far as they grow and whole numbers have room between them), or else anywhere."""
    rows = usual.reshape(-1, usual.shape[-1])
    if kind == "unlike":
        return _exchanged(rows, rng, copies=is_float(dtype)).reshape(usual.shape)
    if kind == "uneven":
        made = _uneven(dtype, usual.reshape(1, -1), rng)
        made = _uneven(dtype, rows, rng) if made is None else made
        if made is not None:
            return made.reshape(usual.shape)
    return rng.permutation(usual.reshape(-1)).reshape(usual.shape)


def _exchanged(rows: Array, rng: np.random.Generator, *, copies: bool) -> Array:
    """Two places of each row exchanged, neither of them an end: who looks at some of what a file
    or a count puts there finds it as usual. Backwards where that would change nothing.

    `copies`: in a row of five or more the last place but one gets the value of the second, so that
    its sum is none that anybody knows. Not of whole numbers: an index may stand for itself alone.
    """
    count, length = rows.shape
    made: Array = rows.copy()
    inner = length - 2
    if inner >= 2:
        first = cast(Any, rng.integers(0, inner, count))
        second = 1 + (first + cast(Any, rng.integers(1, inner, count))) % inner
        each = cast(Any, np.arange(count))
        made[each, 1 + first], made[each, second] = rows[each, second], rows[each, 1 + first]
        if copies and inner >= 3:
            made[:, -2] = made[:, 1]
    return rows[:, ::-1].copy() if np.array_equal(made, rows) else made


def _uneven(dtype: str, rows: Array, rng: np.random.Generator) -> Array | None:
    """Rows with the same ends whose steps have the same sign and other sizes; None where they do
    not all grow, or all fall, or where nothing else would come of it."""
    wide = rows.astype(np.float64)
    if rows.shape[1] < 3 or not np.isfinite(wide).all() or abs(wide).max() > EXACT:
        return None
    steps = np.diff(wide, axis=1)
    falls = wide[0, -1] < wide[0, 0]
    steps = -steps if falls else steps
    if (steps < 0).any() or not steps.any(axis=1).all():
        return None
    made = np.stack([_resized(row, whole=not is_float(dtype), rng=rng) for row in steps])
    climbed = np.cumsum(made, axis=1)[:, :-1]
    inner = wide[:, :1] + (-climbed if falls else climbed)
    found = rows.copy()
    low, high = wide.min(axis=1, keepdims=True), wide.max(axis=1, keepdims=True)
    inner = np.clip(inner, low, high)
    found[:, 1:-1] = stored(inner, dtype) if is_float(dtype) else inner.astype(rows.dtype)
    return None if np.array_equal(found, rows) else found


def _resized(steps: Array, *, whole: bool, rng: np.random.Generator) -> Array:
    """Steps of a row with the same sum: uneven ones in another order; even ones longer and shorter,
    whole ones of 1 at least, as an empty row may be none."""
    if np.ptp(steps) > steps.max() * 1e-3:
        made = rng.permutation(steps)
        return np.roll(steps, 1) if np.array_equal(made, steps) else made
    if not whole:
        drawn = rng.uniform(LEAST_STEP, MOST_STEP, steps.size)
        return drawn * (steps.sum() / drawn.sum())
    spare = int(steps.sum()) - steps.size
    made = 1.0 + rng.multinomial(spare, np.full(steps.size, 1 / steps.size))
    if spare > 0 and np.array_equal(made, steps):
        made[:2] += (1, -1)
    return made
