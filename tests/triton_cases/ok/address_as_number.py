"""A pointer that is passed as an integer."""

import torch
import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


@triton.jit
def through_number(address, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(address.to(tl.pointer_type(tl.float32)) + at))


def run(x):
    y = torch.empty_like(x)
    through_number[(1,)](x[8:].data_ptr(), y, BLOCK=256)
    return y
