"""A descriptor of a view in three dimensions that fills with NaN."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

CONTRACT = {"x": "input float32 [5120]", "y": "output float32 [32,32]"}


@triton.jit
def corner(x, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at[:, None] * N + at[None, :], x.load([1, 0, 0]).reshape(N, N))


def run(x):
    view = x.view(4, 40, 32)[1:, :30, 4:28]
    y = torch.empty(32, 32, device="cuda")
    described = TensorDescriptor(
        view, list(view.shape), list(view.stride()), [1, 32, 32], padding="nan"
    )
    corner[(1,)](described, y, N=32)
    return y
