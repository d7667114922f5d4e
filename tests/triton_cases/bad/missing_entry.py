"""No function of that name."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the source defines no function `run`"


def walk(x):
    return doubled(x)
