import torch
import triton
import triton.language as tl

SPACE = {}


@triton.jit
def add_all(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def total(x):
    if x.device not in SPACE:
        SPACE[x.device] = torch.zeros(1, device=x.device, dtype=torch.float32)
    out = SPACE[x.device]
    add_all[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096)
    return out
