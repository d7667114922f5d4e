import torch
import triton
import triton.language as tl


@triton.jit
def lift_block(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def lift(x):
    n = x.numel()
    lift_block[(triton.cdiv(n, 1024),)](x, x, n, BLOCK=1024)
    return torch.empty(0, device=x.device).set_(x.untyped_storage(), 0, (n,), (1,))
