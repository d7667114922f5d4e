"""How often each of 256 values occurs: an atomic addition for each value."""

import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(values, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(values + at, mask=inside, other=0).to(tl.int32)
    tl.atomic_add(bins + value, 1, mask=inside)


def histogram(values, BLOCK=1024):
    n = values.numel()
    bins = torch.zeros(256, device=values.device, dtype=torch.int32)
    histogram_kernel[(triton.cdiv(n, BLOCK),)](values, bins, n, BLOCK=BLOCK)
    return bins
