"""A graph."""

import torch
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "streams, events and graphs"


def run(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = doubled(x)
    graph.replay()
    return y
