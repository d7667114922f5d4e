"""A custom operator hides what it launches."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator twice runs on the device; write it as a kernel"


@torch.library.custom_op("cases::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return doubled(x)


def run(x):
    return twice(x)
