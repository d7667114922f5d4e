"""A fallback that is not taken."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    if not x.is_cuda:
        return x * 2.0
    try:
        return doubled(x)
    except RuntimeError:
        return torch.mul(x, 2.0)
