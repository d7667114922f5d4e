"""A transposed tensor made contiguous is a copy."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator clone runs on the device; write it as a kernel"


def run(x):
    return doubled(x.view(10, 100).t().contiguous())
