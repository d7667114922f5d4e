"""No kernel of its own."""

import torch

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator _softmax runs on the device; write it as a kernel"


def run(x):
    return torch.softmax(x, 0)
