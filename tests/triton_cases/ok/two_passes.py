"""A scratch buffer, an accumulator that starts at zero, an output with an offset."""

import torch
import triton
import triton.language as tl

CONTRACT = {
    "x": "input float32 [256,256]",
    "mean": "output float32 [1]",
    "count": "output int32 [1]",
}


@triton.jit
def partial(x_ptr, part_ptr, count_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(part_ptr + tl.program_id(0), tl.sum(x))
    tl.atomic_add(count_ptr, tl.sum((x > 0).to(tl.int32)))


@triton.jit
def final(part_ptr, y_ptr, parts, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(part_ptr + at, mask=at < parts, other=0.0)) * factor)


def run(x):
    flat = x.view(-1)[8:]
    parts = triton.cdiv(flat.numel(), 4096)
    part = torch.empty(parts, device=x.device)
    counts = torch.zeros(2, device="cuda", dtype=torch.int32)
    mean = torch.full((1,), float("nan"), device=x.device)
    partial[(parts,)](flat, part, counts[1:], flat.numel(), BLOCK=4096)
    final[(1,)](part, mean, parts, 1.0 / flat.numel(), BLOCK=triton.next_power_of_2(parts))
    return mean, counts[1:]
