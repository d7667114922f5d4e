"""A parameter that nobody knows."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "nothing provides the parameter `scale`"


def run(x, scale):
    return doubled(x, factor=scale)
