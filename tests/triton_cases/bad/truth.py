"""A branch on data."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper reads device data (Tensor.__bool__)"


def run(x):
    y = doubled(x)
    return y if y[0] else x
