import torch
import triton
import triton.language as tl


@triton.jit
def chain(x, parts, ready, out, n, BLOCK: tl.constexpr):
    me, last = tl.atomic_add(ready, 1), tl.num_programs(0) - 1
    at = me * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0)
    if me > 0:
        while tl.atomic_add(ready + me, 0) == 0:
            pass
        total += tl.load(parts + me - 1, volatile=True)
    tl.store(parts + me, total)
    tl.debug_barrier()
    tl.atomic_xchg(ready + me + 1, 1)
    if me == last:
        tl.store(out, total)


def total(x):
    blocks = triton.cdiv(x.numel(), 4096)
    parts = torch.empty(blocks, device=x.device, dtype=torch.float32)
    ready = torch.zeros(blocks + 1, device=x.device, dtype=torch.int32)
    out = torch.empty(1, device=x.device, dtype=torch.float32)
    chain[(blocks,)](x, parts, ready, out, x.numel(), BLOCK=4096)
    return out
