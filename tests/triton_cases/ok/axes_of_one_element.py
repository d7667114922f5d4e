"""Strides of axes of one element mean nothing: torch may call them anything."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1,1000,1]"}


def run(x):
    y = doubled(x).unsqueeze(0).unsqueeze(2).as_strided((1, 1000, 1), (7, 1, 3))
    assert y.stride() == (7, 1, 3)
    return y
