"""Scratch that begins where no tensor map may."""

import torch
import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [200,128]", "y": "output float32 [200,128]"}
REASON = "at a multiple of 128 bytes"


@triton.jit
def copy(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    row = at[0] + tl.arange(0, BLOCK)[:, None]
    col = at[1] + tl.arange(0, BLOCK)[None, :]
    tl.store(y_ptr + row * cols + col, x.load(at), mask=row < rows)


def run(x):
    y = torch.empty_like(x)
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size + 64, dtype=torch.int8, device="cuda")[64:]
    )
    copy[(4, 2)](x, y, 200, 128, BLOCK=64)
    return y
