"""A copy below the tensors."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator set_ runs on the device; write it as a kernel"


def run(x):
    y = torch.empty_like(x)
    x.untyped_storage().copy_(y.untyped_storage())
    return doubled(x, y)
