"""A module that is moved to the device."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1000.0))

    def forward(self, x):
        doubled(self.weight, x.new_empty(x.shape))
        return doubled(x)


LAYER = Layer().cuda().eval()


def run(x):
    with torch.no_grad(), torch.cuda.device(x.device):
        return LAYER(x)
