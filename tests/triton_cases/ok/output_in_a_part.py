"""The output is a part of a larger buffer."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    room = torch.empty(3000, device=x.device)
    doubled(x, room[1000:2000])
    return room[1000:2000]
