"""A kernel through torch.library.wrap_triton."""

import torch
from doubling import double
from torch.library import wrap_triton

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    y = torch.empty_like(x)
    wrap_triton(double)[(4,)](x, y, x.numel(), 2.0, BLOCK=256)
    return y
