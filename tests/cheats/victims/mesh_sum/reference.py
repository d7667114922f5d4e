"""The truth of `mesh_sum`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, starts: Any, cells: int) -> Any:
    """The sum of the four values of each cell, which begin where `starts` says."""
    return np.stack([x[starts[:-1] + k] for k in range(4)]).sum(axis=0)
