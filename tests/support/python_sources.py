"""Sources of Triton kernels and of a wrapper, as specs are inferred from them."""

from __future__ import annotations

JIT = """
import triton
import triton.language as tl

@triton.jit
def helper(q_ptr, offs, value):
    tl.store(q_ptr + offs, value)

@triton.jit
def add(x_ptr, y_ptr, out_ptr, seen_ptr, n, scale, stride_x, wide: tl.int64, BLOCK: tl.constexpr, FLAG: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    places = x_ptr + offs * stride_x
    x = tl.load(places, mask=mask)
    y_ptr += offs
    y = tl.load(y_ptr, mask=mask)
    helper(out_ptr, offs, x + y * scale)
    tl.atomic_add(seen_ptr, 1)
"""  # noqa: E501


WRAPPER = """
def add(x, y, flag=None, alpha=2.0, BLOCK_SIZE=512):
    rows, cols = x.shape
    out = torch.empty_like(x)
    sums = torch.zeros((rows,), dtype=torch.float32, device=x.device)
    kernel[(rows,)](x.contiguous(), y, out, sums, x.stride(0), cols, alpha, BLOCK=BLOCK_SIZE)
    return out, sums

def benchmark():
    add(None, None)
"""
INNER = """
import torch, triton
import triton.language as tl
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, sum_ptr, stride, cols, alpha, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * stride + offs, mask=offs < cols)
    tl.store(out_ptr + row * stride + offs, x, mask=offs < cols)
    tl.store(sum_ptr + row, tl.sum(x, 0))
    tl.store(y_ptr + row, tl.load(y_ptr + row) * alpha)
"""
