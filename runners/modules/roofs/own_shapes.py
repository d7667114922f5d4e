"""Heavy operators called again alone, at their own shapes: as they are, in other types and layouts.

What share of a peak a product reaches hangs on its shape: a product of another type is predicted
from itself in that type, not from the peak.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..common.clock import Clock
from ..common.messages import OwnShape, OwnShapes, Variant
from ..common.torch_library import load, torch
from ..tracing.operators import Recipe, TensorSpec
from .machine import tf32

LAYOUTS = ("aten.convolution", "aten.mkldnn_convolution", "aten._convolution")
"""operators for which channels_last means another algorithm"""


def own_shapes(
    clock: Clock, recipes: Mapping[str, Recipe], weights: Mapping[str, float], seconds: float
) -> OwnShapes:
    """Call them again, the heaviest first (`weights`: their time in the module), while there is
    time."""
    order = sorted(recipes, key=lambda key: -weights.get(key, 0.0))
    found, end = list[OwnShape](), time.monotonic() + seconds
    with clock.alone(), torch().no_grad():
        for number, key in enumerate(order):
            if time.monotonic() > end:
                return OwnShapes(found=tuple(found), left_out=len(order) - number)
            found.append(_one(clock, key, recipes[key]))
    return OwnShapes(found=tuple(found))


def _one(clock: Clock, key: str, recipe: Recipe) -> OwnShape:
    bf16, variants = torch().bfloat16, dict[str, float]()
    wanted: dict[Variant, Callable[[], float]] = {
        "bf16": lambda: _timed(clock, recipe, dtype=bf16),
    }
    if clock.device == "cuda":
        wanted["tf32"] = lambda: _timed(clock, recipe, allow_tf32=True)
    if str(recipe.func.overloadpacket) in LAYOUTS:
        wanted["channels_last"] = lambda: _timed(clock, recipe, channels_last=True)
        wanted["channels_last+bf16"] = lambda: _timed(clock, recipe, dtype=bf16, channels_last=True)
    for name, timed in wanted.items():
        try:
            variants[name] = round(timed(), 3)
        except (RuntimeError, TypeError, ValueError):  # the operator does not do that: no variant
            continue
    return OwnShape(key=key, us=round(_timed(clock, recipe), 3), variants=variants)


def _timed(
    clock: Clock,
    recipe: Recipe,
    *,
    dtype: Any = None,
    channels_last: bool = False,
    allow_tf32: bool | None = None,
) -> float:
    def filled(leaf: Any) -> Any:
        if not isinstance(leaf, TensorSpec):
            return leaf
        return _tensor(leaf, clock.device, dtype, channels_last)

    args, kwargs = load("torch.utils._pytree").tree_map(
        filled, (recipe.args, dict(recipe.kwargs)), is_leaf=_is_spec
    )
    with tf32(allow_tf32):
        return clock.device_us(lambda: recipe.func(*args, **kwargs))


def _is_spec(value: Any) -> bool:
    return isinstance(value, TensorSpec)


def _tensor(spec: TensorSpec, device: str, dtype: Any, channels_last: bool) -> Any:
    size = 1 + sum((n - 1) * s for n, s in zip(spec.shape, spec.stride, strict=True))
    if not spec.dtype.is_floating_point:
        base = torch().zeros(max(size, 0), dtype=spec.dtype, device=device)
        return base.as_strided(spec.shape, spec.stride)
    base = torch().randn(max(size, 0), device=device).to(dtype or spec.dtype)
    made = base.as_strided(spec.shape, spec.stride)
    if channels_last and made.dim() == 4:
        return made.contiguous(memory_format=torch().channels_last)
    return made
