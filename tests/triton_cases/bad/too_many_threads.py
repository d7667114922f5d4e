"""A block that no GPU takes."""

from doubling import double

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "does not fit: out of resource: threads"


def run(x, y):
    double[(1,)](x, y, 10, 2.0, BLOCK=256, num_warps=64)
