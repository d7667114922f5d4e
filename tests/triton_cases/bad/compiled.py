"""torch.compile."""

import torch

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator mul runs on the device; write it as a kernel"


@torch.compile
def twice(x):
    return x * 2 + 1


def run(x):
    return twice(x)
