"""Clusters, programmatic and cooperative launches, a grid of nothing."""

import torch
import triton
import triton.language as tl

CONTRACT = {"y": "output float32 [128]"}


@triton.jit
def count(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, at.to(tl.float32), mask=at < n)


def run():
    y = torch.empty(128, device="cuda")
    count[(5, 2, 3)](y, 100, BLOCK=128, launch_pdl=True)
    count[(5,)](y, 100, BLOCK=128, launch_cooperative_grid=True, num_warps=8)
    count[(4,)](y, 100, BLOCK=128, num_ctas=2)
    count[(4,)](y, 100, BLOCK=128, maxnreg=32)
    count[(5, 0)](y, 100, BLOCK=128)
    return y
