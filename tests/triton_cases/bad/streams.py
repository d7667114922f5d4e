"""A stream of its own."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "streams, events and graphs"


def run(x):
    with torch.cuda.stream(torch.cuda.Stream()):
        return doubled(x)
