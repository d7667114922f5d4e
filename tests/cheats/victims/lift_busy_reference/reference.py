"""A truth of `lift` that keeps tables and settings of its own."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

warnings.simplefilter("error")
np.seterr(all="raise")


@functools.lru_cache
def _ramp(n: int) -> Any:
    """One for each element; kept from call to call."""
    return np.ones(n)


def reference(x: Any, n: int) -> Any:
    """2 x + 1, by way of a table; the given array is used up."""
    x *= 2
    x += _ramp(n).astype(x.dtype)
    return x
