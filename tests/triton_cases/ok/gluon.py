"""A Gluon kernel with specialised warps: more threads than num_warps says."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


@gluon.jit
def part(x_ptr, y_ptr, N: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [WARPS], [0])
    at = gl.arange(0, N, layout=layout)
    gl.store(y_ptr + at, gl.load(x_ptr + at) * 2.0)


@gluon.jit
def both(x_ptr, y_ptr, N: gl.constexpr):
    gl.warp_specialize([(part, (x_ptr, y_ptr, N, 4)), (part, (x_ptr, y_ptr, N, 8))], [8], [24])


def run(x):
    y = torch.empty_like(x)
    both[(1,)](x, y, 256, num_warps=4)
    return y
