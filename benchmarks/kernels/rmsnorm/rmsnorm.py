"""RMSNorm along the rows of a matrix: a program reads its row twice, BLOCK at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x, weight, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x + row * cols
    y_row = y + row * cols

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x_row + at, mask=at < cols, other=0.0).to(tl.float32)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + 1e-6)

    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        value = tl.load(x_row + at, mask=inside).to(tl.float32)
        w = tl.load(weight + at, mask=inside).to(tl.float32)
        tl.store(y_row + at, value * scale * w, mask=inside)


def rmsnorm(x, weight, BLOCK=1024):
    rows, cols = x.shape
    y = torch.empty_like(x)
    rmsnorm_kernel[(rows,)](x, weight, y, cols, BLOCK=BLOCK)
    return y
