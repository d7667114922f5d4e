"""A name that the kernel does not know."""

import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "unknown_name is not defined"


@triton.jit
def broken(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, unknown_name)  # noqa: F821


def run(x, y):
    broken[(1,)](x, BLOCK=4)
