import functools

import torch
import triton
import triton.language as tl


@triton.jit
def lift_block(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


@functools.lru_cache
def choice(n):
    block = 256 if n < 4096 else 2048
    return block, (triton.cdiv(n, block),)


def lift(x):
    block, grid = choice(x.numel())
    y = torch.empty_like(x)
    lift_block[grid](x, y, x.numel(), BLOCK=block)
    return y
