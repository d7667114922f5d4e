"""A size that the data decide."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator max runs on the device; write it as a kernel"


def run(x):
    return doubled(x, torch.empty(int(x.max()), device="cuda"))
