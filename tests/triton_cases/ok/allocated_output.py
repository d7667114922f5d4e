"""The usual wrapper: it allocates the output and a grid from meta values."""

import torch
import triton
import triton.language as tl

CONTRACT = {"a": "input float32 [5000]", "b": "input float32 [5000]", "c": "output float32 [5000]"}


@triton.jit
def add(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    tl.store(c_ptr + at, a + tl.load(b_ptr + at, mask=inside), mask=inside)


def run(a, b):
    assert a.is_cuda and a.device == b.device and a.is_contiguous() and not a.is_cpu
    c = torch.empty_like(a)
    add[lambda meta: (triton.cdiv(a.numel(), meta["BLOCK"]),)](a, b, c, a.numel(), BLOCK=1024)
    return c
