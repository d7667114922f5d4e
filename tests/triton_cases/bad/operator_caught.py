"""A refusal is not undone by catching it."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator add runs on the device; write it as a kernel"


def run(x):
    try:
        y = x + 1
    except Exception:
        y = torch.empty_like(x)
    return doubled(x, y)
