"""Host data become constants of the plan, wherever they are made."""

import torch
from doubling import doubled

TABLE = torch.tensor([1.0, 2.0, 3.0], device="cuda")
CONTRACT = {
    "x": "input float32 [1000]",
    "a": "output float32 [3]",
    "b": "output int32 [2]",
    "c": "output float32 [2]",
}


def run(x):
    whole = torch.tensor([4, 5], device=x.device, dtype=torch.int32)
    steps = torch.arange(3).float().to(x.device)
    doubled(steps)
    return doubled(TABLE), doubled(whole), doubled(x.new_tensor([7.0, 8.0]))
