"""The kernel that most cases launch; a case finds it beside itself."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


def doubled(x, y=None, factor=2.0):
    y = torch.empty_like(x) if y is None else y
    double[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), factor, BLOCK=256)
    return y
