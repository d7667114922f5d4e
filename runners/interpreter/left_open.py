"""What Triton leaves open, and the interpreter settles in the kindest way: here it is settled anew.

What a masked load without `other` gives where its mask is off is undefined; interpreted it is zero,
and whoever adds it up is right by luck. Programs of a grid come in any order; interpreted they come
in turn, and whoever reads what the program before has stored finds it there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..capture.libraries import load
from .number_formats import FORMATS

WHOLE = 0x600000
"""In place of a whole number: what is a multiple of whatever vectors want, and far off as a place;
of narrow types its last bits."""
NARROW = 96


def install(source: Path) -> None:
    """Mend the interpreter of this process, for good.

    Programs come in turn where the source names atomics: they may wait for those before them.
    """
    builder: Any = load("triton.runtime.interpreter").InterpreterBuilder
    builder.create_masked_load = _with_undefined_lanes(builder.create_masked_load)
    if "atomic" not in source.read_text(encoding="utf-8", errors="replace"):
        _draw_the_order(builder)


def _with_undefined_lanes(plain: Callable[..., Any]) -> Callable[..., Any]:
    def masked_load(self: Any, ptrs: Any, mask: Any, other: Any, *more: Any, **named: Any) -> Any:
        if other is None and not mask.data.all():
            other = _undefined(ptrs)
        return plain(self, ptrs, mask, other, *more, **named)

    return masked_load


def _undefined(ptrs: Any) -> Any:
    """A handle of what nobody may count on: NaN, or a large number."""
    import numpy as np

    interpreter, kind = load("triton.runtime.interpreter"), ptrs.get_element_ty()
    data = np.zeros(ptrs.data.shape, interpreter._get_np_dtype(kind))
    if kind.name in FORMATS:
        import ml_dtypes

        stored = np.full(data.shape, np.nan).astype(getattr(ml_dtypes, FORMATS[kind.name]))
        data = stored.view(data.dtype)
    elif data.dtype.kind == "f":
        data[...] = np.nan
    elif data.dtype.kind in "iu" and not kind.is_ptr():
        data[...] = WHOLE if data.itemsize >= 4 else NARROW
    return interpreter.TensorHandle(data, kind)


def _draw_the_order(builder: Any) -> None:
    """The places of each axis of a grid in an order of their own, drawn for each launch."""
    sizes: Callable[..., None] = builder.set_grid_dim
    place: Callable[..., None] = builder.set_grid_idx
    orders = list[list[int]]()

    def set_grid_dim(self: Any, *dims: int) -> None:
        orders[:] = [random.sample(range(size), size) for size in dims]
        sizes(self, *dims)

    def set_grid_idx(self: Any, *index: int) -> None:
        place(self, *(order[i] for order, i in zip(orders, index, strict=True)))

    builder.set_grid_dim, builder.set_grid_idx = set_grid_dim, set_grid_idx
