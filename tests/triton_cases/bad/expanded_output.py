"""One row that is computed, and told to be all of them: every element of the output is there, and
no caller finds it where the contract has it."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [20]", "y": "output float32 [50,20]"}
REASON = "of shape [50, 20] comes back with strides [0, 1]"


def run(x):
    return doubled(x, torch.empty(20, device=x.device)).expand(50, 20)
