"""Fetching by name."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper reads device data"


def run(x):
    return doubled(x).to("cpu")
