"""An output that was cleared at import: the next call finds in it what this one has left, and its
caller loses what this one returned."""

import torch
import triton
import triton.language as tl

SUM = torch.zeros(1, dtype=torch.float32, device="cuda")
CONTRACT = {"x": "input float32 [1024]", "y": "output float32 [1]"}
REASON = "it returns the memory of `y` that its caller still has from the first"


@triton.jit
def add_up(x, y, BLOCK: tl.constexpr):
    tl.atomic_add(y, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


def run(x):
    add_up[(1,)](x, SUM, BLOCK=1024)
    return SUM
