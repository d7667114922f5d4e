"""Operators inside a context."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator mm runs on the device; write it as a kernel"


def run(x):
    with torch.autocast("cuda"):
        y = torch.nn.functional.linear(x.view(10, 100), x.view(10, 100))
    return doubled(y)
