"""A fill with a number that lies on the device."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper reads device data (Tensor.fill_)"


def run(x):
    y = torch.empty_like(x)
    y.fill_(x[0])
    return doubled(x, y)
