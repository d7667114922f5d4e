"""A result that the first call computes and later ones take for theirs."""

from doubling import doubled

KEPT = {}
CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "call 2 of `run` is another than its first one: it has 1 launches, not 2"


def run(x):
    if "first" not in KEPT:
        KEPT["first"] = doubled(x)
    return doubled(KEPT["first"])
