"""Scratch memory that the first call clears and every call leaves as it was."""

import torch
import triton
import triton.language as tl

SPACE = {}
CONTRACT = {"x": "input float32 [1024]", "y": "output float32 [1]"}


@triton.jit
def add_up(x, y, done, BLOCK: tl.constexpr):
    tl.atomic_add(done, 1)
    tl.store(y, tl.sum(tl.load(x + tl.arange(0, BLOCK))))
    tl.atomic_xchg(done, 0)


def run(x):
    if "done" not in SPACE:
        SPACE["done"] = torch.zeros(1, dtype=torch.int32, device="cuda")
    y = torch.empty(1, dtype=torch.float32, device="cuda")
    add_up[(1,)](x, y, SPACE["done"], BLOCK=1024)
    return y
