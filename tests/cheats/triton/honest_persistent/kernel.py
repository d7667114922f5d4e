import torch
import triton
import triton.language as tl


@triton.jit
def lift_all(x, y, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def lift(x):
    y = torch.empty_like(x)
    lift_all[(132,)](x, y, x.numel(), BLOCK=1024)
    return y
