import torch
import triton
import triton.language as tl


@triton.jit
def lift_block(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def columns(x):
    """y[c, r] = 2 x[r, c] + 1, column by column as its callers want it: in programs of 64."""
    rows, cols = x.shape
    y = torch.empty_strided((cols, rows), (1, cols), device=x.device, dtype=x.dtype)
    lift_block[(triton.cdiv(y.numel(), 64),)](x, y, y.numel(), BLOCK=64)
    return y
