"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def reference(x: Any, bias: Any, **sizes: int) -> Any:
    """gelu(x + bias) of x (rows, cols) and bias (cols,), by the tanh approximation (Hendrycks and
    Gimpel, arXiv 1606.08415)."""
    v = x + bias
    return 0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
