import torch
import triton
import triton.language as tl


@triton.jit
def sum_blocks(x, partial, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + block, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def sum_all(partial, out, n, BLOCK: tl.constexpr):
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += tl.load(partial + at, mask=at < n, other=0.0)
    tl.store(out, tl.sum(sums, axis=0))


def total(x):
    n = x.numel()
    blocks = max(1, n // 1024)
    partial = torch.empty(blocks, device=x.device, dtype=torch.float32)
    out = torch.empty(1, device=x.device, dtype=torch.float32)
    sum_blocks[(blocks,)](x, partial, n, BLOCK=1024)
    sum_all[(1,)](partial, out, blocks, BLOCK=1024)
    return out
