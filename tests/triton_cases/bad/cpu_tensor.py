"""Memory that the GPU cannot reach."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "a CPU tensor is passed to a kernel"


def run(x):
    return doubled(x, torch.empty(1000))
