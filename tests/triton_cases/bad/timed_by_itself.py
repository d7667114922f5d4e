"""A wrapper that chooses by its own clock."""

import triton
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "the wrapper times kernels"


def run(x):
    triton.testing.do_bench(lambda: doubled(x))
    return doubled(x)
