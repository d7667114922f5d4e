import torch
import triton
import triton.language as tl


@triton.jit
def lift_at(address, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = address.to(tl.pointer_type(tl.float32))
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def lift(x):
    y = torch.empty_like(x)
    lift_at[(triton.cdiv(x.numel(), 1024),)](x.data_ptr(), y, x.numel(), BLOCK=1024)
    return y
