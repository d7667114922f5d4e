"""What is filled at import is prepared before the first run."""

import torch
from doubling import doubled

LOCK = torch.zeros(16, dtype=torch.int32, device="cuda")
CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    doubled(LOCK, LOCK)
    return doubled(x)
