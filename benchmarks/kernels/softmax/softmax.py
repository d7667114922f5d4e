"""Softmax along the rows of a matrix: a program reads its row three times, BLOCK at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x + row * cols
    y_row = y + row * cols

    largest = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x_row + at, mask=at < cols, other=-float("inf"))
        largest = tl.maximum(largest, value)
    top = tl.max(largest, axis=0)

    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x_row + at, mask=at < cols, other=-float("inf"))
        sums += tl.exp(value - top)
    total = tl.sum(sums, axis=0)

    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x_row + at, mask=at < cols, other=-float("inf"))
        tl.store(y_row + at, tl.exp(value - top) / total, mask=at < cols)


def softmax(x, BLOCK=1024):
    rows, cols = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(rows,)](x, y, cols, BLOCK=BLOCK)
    return y
