"""Tensors have no memory here."""

from doubling import doubled

CONTRACT = {"x": "input float32 [17000000000]", "y": "output float32 [1000]"}


def run(x, y):
    doubled(x, y)
