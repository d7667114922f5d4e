"""A wrapper that also returns the tensor that it was handed."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x, y=None):
    return doubled(x, y)
