"""The new value of an inout, returned as a tensor of its own."""

from doubling import doubled

CONTRACT = {"x": "inout float32 [1000]"}


def run(x):
    return doubled(x)
