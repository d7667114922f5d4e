"""Every way to write one number, in order, whole buffers and parts."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    y = torch.empty(2000, device="cuda")
    y[1000:] = 7
    y[:1000].zero_()
    y.fill_(float("-inf"))
    wide = x.new_full((8,), 3, dtype=torch.int64)
    ones = torch.ones_like(x)
    doubled(wide, wide)
    doubled(ones, ones)
    torch.zeros(4, device="cuda")  # nobody reads it
    return doubled(x, y[1000:])
