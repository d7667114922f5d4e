"""Configurations with hooks of their own."""

import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "different pre_hooks"


@triton.autotune(
    [triton.Config({"BLOCK": b}, pre_hook=lambda values, b=b: None) for b in (64, 128)], key=[]
)
@triton.jit
def some(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0.0)


def run(x, y):
    some[(1,)](y)
