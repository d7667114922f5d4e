"""Another GPU by its number."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "second device cuda:1"


def run(x):
    return doubled(x.to(1))
