"""The same bytes under another dtype."""

import torch
import triton
import triton.language as tl
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    bits = x.view(torch.int32)
    y = torch.empty_like(bits)
    doubled(bits, triton.reinterpret(y, tl.int32))
    return y.view(torch.float32)
