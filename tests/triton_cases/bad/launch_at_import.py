"""A launch outside the call."""

import torch
from doubling import doubled

READY = doubled(torch.empty(10, device="cuda"))
CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "kernels may not be launched at import"


def run(x):
    return doubled(x)
