"""Scalars, symbols and defines reach a wrapper as Python values."""

import torch
from doubling import doubled

CONTRACT = {
    "x": "input float32 [1000]",
    "n": "scalar int32 1000",
    "factor": "scalar float32 0.5",
    "flag": "scalar bool 1",
    "y": "output float32 [1000]",
}
SYMBOLS = {"rows": 40}
DEFINES = {"MODE": "fast"}


def run(x, n, factor, flag, rows, MODE, missing=3):
    assert (n, factor, flag, rows, MODE, missing) == (1000, 0.5, True, 40, "fast", 3)
    return doubled(x, torch.empty(n, device=x.device), factor)
