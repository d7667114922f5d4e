import torch
import triton
import triton.language as tl


@triton.jit
def lift_block(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


@triton.jit
def lift_whole(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at) + 1.0)


def lift(x):
    y, n = torch.empty_like(x), x.numel()
    if n % 16 == 0:
        lift_whole[(max(1, n // 1024),)](x, y, BLOCK=1024)
    else:
        lift_block[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
