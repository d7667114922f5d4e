"""A number out of a tensor."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper reads device data (Tensor.item)"


def run(x):
    y = doubled(x)
    return doubled(x, y, y[0].item())
