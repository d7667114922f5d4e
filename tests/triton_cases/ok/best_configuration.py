"""A wrapper that goes by the configuration in use."""

import torch
import triton
import triton.language as tl
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [4]"}


@triton.autotune([triton.Config({"PARTS": p}) for p in (1, 2, 4)], key=["n"])
@triton.jit
def sums(x_ptr, y_ptr, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    at = tl.arange(0, BLOCK) * PARTS + part
    tl.atomic_add(y_ptr + part, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0)))


def run(x):
    found = torch.zeros(4, device=x.device)
    sums[lambda meta: (meta["PARTS"],)](x, found, x.numel(), BLOCK=1024)
    parts = sums.best_config.kwargs["PARTS"]
    doubled(found[:parts], found[:parts])
    return found
