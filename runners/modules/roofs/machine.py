"""Measured roofs: copies of every size, large products in every type, and the host's part of a
compiled call. Datasheets are not asked: what counts is what this machine reaches."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..common.clock import Clock
from ..common.messages import Roofs
from ..common.torch_library import torch

SIZES = {
    "cuda": [1 << n for n in (14, 17, 19, 21, 23, 25, 27, 29)],
    "cpu": [1 << n for n in (12, 16, 20, 23, 26)],
}
"""bytes read and written by a copy"""
SIDE = {"cuda": 8192, "cpu": 1024}
FEW, MANY = 1, 8
"""products in the compiled functions that are compared"""


def roofs(clock: Clock, *, compiled: bool) -> Roofs:
    """Measure them. `compiled`: also what a compiled call costs, which takes some seconds."""
    call, kernel = _compiled_costs(clock) if compiled else (None, None)
    with clock.alone():
        return Roofs(
            copies=tuple((size, round(_copy_us(clock, size), 4)) for size in SIZES[clock.device]),
            peaks=_peaks(clock),
            compiled_call_us=call,
            compiled_kernel_us=kernel,
        )


@contextmanager
def tf32(on: bool | None) -> Generator[None]:
    """Whether products of float32 may be done in TF32 while the body runs; None: as it is set
    (torch allows it for convolutions and not for matrix products)."""
    if on is None:
        yield
        return
    matmul, cudnn = torch().backends.cuda.matmul, torch().backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32, cudnn.allow_tf32 = on, on
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def _copy_us(clock: Clock, size: int) -> float:
    source = torch().empty(size // 2, dtype=torch().uint8, device=clock.device)
    target = torch().empty_like(source)
    return clock.device_us(lambda: target.copy_(source))


def _peaks(clock: Clock) -> dict[str, float]:
    found, side, device = dict[str, float](), SIDE[clock.device], clock.device
    kinds = [("float32", torch().float32, False), ("bfloat16", torch().bfloat16, False)]
    if device == "cuda":
        kinds.append(("tf32", torch().float32, True))
    for name, dtype, allowed in kinds:
        n = side if name != "float32" else side // 2  # a full one takes long without tensor cores
        left, right = (torch().randn(n, n, device=device).to(dtype) for _ in range(2))
        with tf32(allowed):
            found[name] = 2e6 * n**3 / clock.device_us(lambda a=left, b=right: a @ b)
    return found


def _compiled_costs(clock: Clock) -> tuple[float | None, float | None]:
    """Host microseconds of a compiled call, and of each kernel in it: from two functions that
    differ in their number of kernels alone."""
    if clock.device == "cpu":
        return None, None
    weight = torch().randn(64, 64, device=clock.device)

    def chain(count: int) -> Any:
        def run(x: Any) -> Any:
            for _ in range(count):
                x = (x @ weight).relu()  # a library's product and one kernel of Inductor's
            return x

        return torch().compile(run)

    start = torch().randn(64, 64, device=clock.device)
    host = list[float]()
    for count in (FEW, MANY):
        run = chain(count)
        with torch().no_grad():
            clock.wall_ms(lambda r=run: r(start), 0.02)
            host.append(clock.host_ms(lambda r=run: r(start)) * 1e3)
    each = max(0.5, (host[1] - host[0]) / (2 * (MANY - FEW)))
    return max(1.0, host[0] - 2 * FEW * each), each
