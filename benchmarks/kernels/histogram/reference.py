"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(values: Any, **sizes: int) -> Any:
    """How often each of 0..255 occurs in values (n,): 256 counts."""
    return np.bincount(values, minlength=256)
