"""The transpose of a matrix: a program a tile of BLOCK_M by BLOCK_N."""

import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x, y, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (row[:, None] < rows) & (col[None, :] < cols)
    tile = tl.load(x + row[:, None] * cols + col[None, :], mask=inside)
    tl.store(y + col[None, :] * rows + row[:, None], tile, mask=inside)


def transpose(x, BLOCK_M=32, BLOCK_N=32):
    rows, cols = x.shape
    y = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(rows, BLOCK_M), triton.cdiv(cols, BLOCK_N))
    transpose_kernel[grid](x, y, rows, cols, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return y
