"""A fill with gaps."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "fill of a strided view; fill the whole buffer"


def run(x):
    y = torch.empty(100, 100, device="cuda")
    y[:, :50].zero_()
    return doubled(x, y)
