"""The same module on fewer and more samples: what a call costs, and what a sample does."""

from __future__ import annotations

from typing import Any

from .common.clock import Clock
from .common.messages import Batches, BatchPoint
from .common.torch_library import mapped, tensors_in, torch
from .forms.subjects import Loaded

MOST_SAMPLES = 256
SLOWEST_MS = 2000.0
"""beyond it no larger batch is tried"""


def batches_of(loaded: Loaded, clock: Clock, asked: tuple[int, ...]) -> Batches:
    """Sweep the first dimension, where all inputs share one: by doubling, or those asked for."""
    tensors = tensors_in(loaded.inputs)
    sizes = {int(t.shape[0]) if t.dim() else 0 for t in tensors}
    if len(sizes) != 1 or 0 in sizes:
        return Batches(points=(), why_not="the inputs do not share their first dimension")
    given = sizes.pop()
    wanted = asked or tuple(sorted({1, *_around(given)}))
    points = list[BatchPoint]()
    for batch in wanted:
        points.append(_point(loaded, clock, given, batch))
        if points[-1].failed or (points[-1].ms or 0.0) > SLOWEST_MS:
            break
    return Batches(points=tuple(points))


def _around(given: int) -> list[int]:
    sizes = [max(1, given // 4), max(1, given // 2), given, 2 * given, 4 * given]
    return [size for size in sizes if size == given or size <= MOST_SAMPLES]


def _point(loaded: Loaded, clock: Clock, given: int, batch: int) -> BatchPoint:
    inputs = mapped(loaded.inputs, lambda tensor: _resized(tensor, given, batch))
    other = Loaded(loaded.model, inputs, loaded.device, loaded.form, loaded.path)
    try:
        with clock.alone():
            peak = peak_bytes(other)
            return BatchPoint(batch=batch, ms=clock.wall_ms(other.call), peak_bytes=peak)
    except RuntimeError as error:  # out of memory, or a shape that the module does not take
        return BatchPoint(batch=batch, failed=str(error).splitlines()[0][:200])


def peak_bytes(loaded: Loaded) -> int | None:
    """`max_memory_allocated` over one call; None on a CPU."""
    if loaded.device == "cpu":
        return None
    cuda = torch().cuda
    cuda.synchronize()
    cuda.reset_peak_memory_stats()
    loaded.call()
    cuda.synchronize()
    return int(cuda.max_memory_allocated())


def _resized(value: Any, given: int, batch: int) -> Any:
    """The first samples, or all of them again until there are enough."""
    repeats = -(-batch // given)
    return value.repeat(repeats, *[1] * (value.dim() - 1))[:batch].contiguous()
