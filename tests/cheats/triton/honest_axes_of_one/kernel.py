import torch
import triton
import triton.language as tl


@triton.jit
def sum_all(x, out, n, BLOCK: tl.constexpr):
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out, tl.sum(sums, axis=0))


def total(x):
    out = torch.empty(2, 3, device=x.device, dtype=torch.float32)
    sum_all[(1,)](x, out, x.numel(), BLOCK=4096)
    return out[:1, 0]
