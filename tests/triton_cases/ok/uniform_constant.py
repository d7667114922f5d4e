"""An accumulator written as a tensor is filled in every run."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1]"}


def run(x):
    total = torch.tensor([0.5], device=x.device)
    doubled(x[:1], total)
    return total
