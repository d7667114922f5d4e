"""Descriptors made in the kernel need memory for each launch."""

import torch
import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [200,128]", "y": "output float32 [200,128]"}


@triton.jit
def copy(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    y.store(at, x.load(at) * 2.0)


def run(x):
    y = torch.empty_like(x)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
    copy[(triton.cdiv(200, 64), 2)](x, y, 200, 128, BLOCK=64)
    return y
