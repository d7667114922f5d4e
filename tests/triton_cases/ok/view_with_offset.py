"""A view keeps its divisibility by 16 only where its offset does."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1028]", "y": "output float32 [1024]"}


def run(x, y):
    doubled(x[4:1028], y)
    doubled(x[1:1025], y)
