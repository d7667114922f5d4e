"""A backward pass."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "torch operator mul runs on the device; write it as a kernel"


def run(x):
    x.requires_grad_(True)
    (x * 2).sum().backward()
    return doubled(x, x.grad)
