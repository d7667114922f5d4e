"""A loop until the data agree."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper reads device data (Tensor.allclose)"


def run(x):
    y = torch.empty_like(x)
    for _ in range(3):
        doubled(x, y)
        if torch.allclose(x, y):
            break
    return y
