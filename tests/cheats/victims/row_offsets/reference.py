"""The truth of `row_offsets`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, starts: Any, rows: int) -> Any:
    """The sum of each row, which begins where `starts` says."""
    return np.add.reduceat(x[: starts[-1]], starts[:-1])
