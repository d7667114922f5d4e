import torch
import triton
import triton.language as tl


@triton.jit
def add_lifted(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(y + at, mask=at < n)
    tl.store(y + at, before + 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def lift(x):
    y = torch.empty_like(x)
    y[: x.numel() // 2].zero_()
    add_lifted[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
