"""A contract that promises 4 bytes gets machine code for 4 bytes."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1024] align 4", "y": "output float32 [1024] align 4"}


def run(x):
    assert x.data_ptr() % 8 == 4
    return doubled(x)
