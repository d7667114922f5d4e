"""A tensor that grows."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator resize_ runs on the device; write it as a kernel"


def run(x):
    y = torch.empty(1, device="cuda")
    y.resize_(1000)
    return doubled(x, y)
