"""Results in a tensor that is uploaded once."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [2]"}
REASON = "lies in a constant"


def run(x):
    y = torch.tensor([1.0, 2.0], device=x.device)
    return doubled(x[:2], y)
