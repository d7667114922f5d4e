import triton
import triton.language as tl


@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(y + at - BLOCK, mask=(at >= BLOCK) & (at < n), other=0.0)
    value = 2.0 * tl.load(x + at, mask=at < n) + 1.0 + 0.0 * before
    tl.store(y + at, value, mask=at < n)
