"""Every scalar width, annotations, and values that become constants."""

import torch
import triton
import triton.language as tl

CONTRACT = {"y": "output float32 [128]"}


@triton.jit(do_not_specialize=["kept"])
def mix(y_ptr, one, sixteen, big, huge, negative, yes, f, h: tl.float16, b: tl.bfloat16,
        d: tl.float64, byte: tl.int8, short: tl.uint16, long: tl.int64, bit: tl.int1, kept,
        nothing, BLOCK: tl.constexpr):  # fmt: skip
    at = tl.arange(0, BLOCK)
    whole = one + sixteen + negative + kept + byte + short + long + big + huge.to(tl.int64)
    real = f + h.to(tl.float32) + b.to(tl.float32) + d.to(tl.float32)
    tl.store(y_ptr + at, real + whole + tl.where(yes, 1.0, 2.0) + tl.where(bit, 1.0, 2.0))


def run():
    y = torch.empty(128, device="cuda")
    mix[(1,)](
        y, 1, 16, 2**40, 2**63, -3, True, 1.5, 0.1, 0.1, 0.1, 200, 65535, 1, True, 1, None, 128
    )
    return y
