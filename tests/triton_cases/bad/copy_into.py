"""Copying into a tensor."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator copy_ runs on the device; write it as a kernel"


def run(x):
    y = torch.empty_like(x)
    y.copy_(x)
    return doubled(y, y)
