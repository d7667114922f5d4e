"""Programs of a grid come in any order; interpreted they come in turn, and whoever reads what the
program before has stored finds it there. Here the order is drawn.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..capture.libraries import load


def install(source: Path) -> None:
    """Mend the interpreter of this process, for good: the places of each axis of a grid come in an
    order of their own, drawn for each launch. They stay in turn where the source names atomics:
    programs may wait there for those before them.
    """
    if "atomic" in source.read_text(encoding="utf-8", errors="replace"):
        return
    builder: Any = load("triton.runtime.interpreter").InterpreterBuilder
    sizes: Callable[..., None] = builder.set_grid_dim
    place: Callable[..., None] = builder.set_grid_idx
    orders = list[list[int]]()

    def set_grid_dim(self: Any, *dims: Any) -> None:
        # A grid that names a kernel's parameters has tensors of the interpreter for sizes.
        counts = [operator.index(size) for size in dims]
        orders[:] = [random.sample(range(count), count) for count in counts]
        sizes(self, *dims)

    def set_grid_idx(self: Any, *index: int) -> None:
        place(self, *(order[i] for order, i in zip(orders, index, strict=True)))

    builder.set_grid_dim, builder.set_grid_idx = set_grid_dim, set_grid_idx
