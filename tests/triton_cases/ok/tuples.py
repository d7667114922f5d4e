"""Tuples, named tuples and None among the arguments."""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

CONTRACT = {"x": "input float32 [200]", "b": "input float32 [256]", "y": "output float32 [1024]"}


class Part(NamedTuple):
    start: object
    size: int
    step: int


@triton.jit
def gather(y_ptr, parts, bias, place, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(len(parts)):
        total += tl.load(parts[i].start + at * parts[i].step, mask=at < parts[i].size, other=0.0)
    if bias is not None:
        total += tl.load(bias + at)
    tl.store(y_ptr + at * place[1] + place[0], total * factor)


def run(x, b):
    y = torch.empty(1024, device=x.device)
    parts = (Part(x, 200, 1), Part(x[::2], 100, 2))
    gather[(1,)](y, parts, None, (0, 1, None), 0.1, BLOCK=256)
    gather[(1,)](y, parts[:1], b, (16, 3, (5, 1.5)), 2.0, BLOCK=256)
    return {"y": y}
