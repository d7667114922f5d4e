"""A part of a larger buffer with other elements between its own."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [500]"}
REASON = "of shape [500] comes back with strides [2]"


def run(x):
    return doubled(x)[::2]
