"""Another GPU."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "second device cuda:1"


def run(x):
    return doubled(x, torch.empty(1000, device="cuda:1"))
