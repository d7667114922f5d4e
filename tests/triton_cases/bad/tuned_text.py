"""Configurations that vary something that is no number."""

import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "`MODE` has the values"


@triton.autotune([triton.Config({"MODE": m}) for m in ("a", "b")], key=[])
@triton.jit
def some(x_ptr, MODE: tl.constexpr):
    tl.store(x_ptr, 0.0)


def run(x, y):
    some[(1,)](y)
