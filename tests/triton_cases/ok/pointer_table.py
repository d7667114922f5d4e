"""Addresses in a tensor stay addresses."""

import torch
import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


@triton.jit
def through_table(table_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + tl.program_id(0) * BLOCK + at, tl.load(start + at))


def run(x):
    y = torch.empty_like(x)
    table = torch.tensor([x.data_ptr(), x[4:].data_ptr()], device="cuda")
    through_table[(2,)](table, y, BLOCK=256)
    return y
