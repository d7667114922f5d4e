"""A selection by the data."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator gt runs on the device; write it as a kernel"


def run(x):
    return doubled(x[x > 0])
