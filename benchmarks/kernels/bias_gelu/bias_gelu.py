"""y = gelu(x + bias), the tanh approximation: a block of BLOCK elements a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x, bias, y, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside) + tl.load(bias + at % cols, mask=inside)
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tanh = 2.0 * tl.sigmoid(2.0 * u) - 1.0
    tl.store(y + at, 0.5 * v * (1.0 + tanh), mask=inside)


def bias_gelu(x, bias, BLOCK=1024):
    rows, cols = x.shape
    y = torch.empty_like(x)
    n = rows * cols
    bias_gelu_kernel[(triton.cdiv(n, BLOCK),)](x, bias, y, n, cols, BLOCK=BLOCK)
    return y
