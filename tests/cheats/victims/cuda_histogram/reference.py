"""The truth of `histogram`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(values: Any, n: int) -> Any:
    """How often each of 0..255 occurs in values (n,): 256 counts."""
    return np.bincount(values, minlength=256)
