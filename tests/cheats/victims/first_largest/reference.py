"""The truth of `first_largest`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, rows: int, cols: int) -> Any:
    """The first place of the largest value of each row."""
    return np.argmax(x, axis=1).astype(np.int32)
