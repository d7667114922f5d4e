"""Numbers that the device draws."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator rand makes a device tensor; write it as a kernel"


def run(x):
    return doubled(torch.rand(1000, device="cuda"))
