"""LayerNorm along the rows of a matrix: mean, variance, then the result, BLOCK at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x, weight, bias, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x + row * cols
    y_row = y + row * cols

    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x_row + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / cols

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x_row + at, mask=at < cols, other=0.0).to(tl.float32)
        centred = tl.where(at < cols, value - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + 1e-5)

    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        value = tl.load(x_row + at, mask=inside).to(tl.float32)
        w = tl.load(weight + at, mask=inside).to(tl.float32)
        b = tl.load(bias + at, mask=inside).to(tl.float32)
        tl.store(y_row + at, (value - mean) * scale * w + b, mask=inside)


def layernorm(x, weight, bias, BLOCK=1024):
    rows, cols = x.shape
    y = torch.empty_like(x)
    layernorm_kernel[(rows,)](x, weight, bias, y, cols, BLOCK=BLOCK)
    return y
