"""A pointer to nowhere."""

import torch
from doubling import double

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "lies in no known buffer"


class Elsewhere:
    dtype = torch.float32

    def data_ptr(self):
        return 4096


def run(x, y):
    double[(1,)](Elsewhere(), y, 10, 2.0, BLOCK=256)
