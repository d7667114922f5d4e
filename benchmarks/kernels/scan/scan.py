"""Running sums along the rows of a matrix: a program a row, BLOCK elements at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        tl.store(y + row * cols + at, tl.cumsum(value, axis=0) + carry, mask=at < cols)
        carry += tl.sum(value, axis=0)


def scan(x, BLOCK=1024):
    rows, cols = x.shape
    y = torch.empty_like(x)
    scan_kernel[(rows,)](x, y, cols, BLOCK=BLOCK)
    return y
