"""Arithmetic on a result."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator add runs on the device; write it as a kernel"


def run(x):
    return doubled(x) + 1
