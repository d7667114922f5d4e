"""A tensor that takes over the storage of another one."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    other = torch.empty(10, device="cuda")
    other.data = x
    return doubled(other)
