"""A tensor that is read and written."""

from doubling import doubled

CONTRACT = {"x": "inout float32 [1000]"}


def run(x):
    doubled(x, x)
