"""The truth of `scale`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, mask: Any, factor: float, n: int) -> Any:
    """factor x where the mask is not zero, x elsewhere."""
    return np.where(mask != 0, factor * x, x)
