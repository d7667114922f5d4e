"""An output that was cleared at import stays a buffer of the wrapper's own: the next call finds
in it what this one has left."""

import torch
import triton
import triton.language as tl

SUM = torch.zeros(1, dtype=torch.float32, device="cuda")
CONTRACT = {"x": "input float32 [1024]", "y": "output float32 [1]"}


@triton.jit
def add_up(x, y, BLOCK: tl.constexpr):
    tl.atomic_add(y, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


def run(x):
    add_up[(1,)](x, SUM, BLOCK=1024)
    return SUM
