import torch
import triton
import triton.language as tl


@triton.jit
def spread_block(x, y, rows, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = 2.0 * tl.load(x + at % cols, mask=at < rows * cols) + 1.0
    tl.store(y + at, value, mask=at < rows * cols)


def spread(x, rows):
    """y[r, c] = 2 x[c] + 1, in programs of 64 elements."""
    y = torch.empty((rows, x.numel()), device=x.device, dtype=x.dtype)
    spread_block[(triton.cdiv(y.numel(), 64),)](x, y, rows, x.numel(), BLOCK=64)
    return y
