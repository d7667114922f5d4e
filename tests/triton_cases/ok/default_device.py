"""A default device, and devices by number, name and object."""

import torch
from doubling import doubled

torch.set_default_device("cuda")
CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    doubled(x, torch.zeros(1000))
    doubled(x, torch.empty(1000, device=0))
    doubled(x, torch.empty(1000, device=f"{x.device.type}:{x.get_device()}"))
    return doubled(x.to(0).to("cuda").cuda().contiguous().float())
