import triton
import triton.language as tl


@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    tl.store(y + at, 2.0 * values + 1.0, mask=at < 0)
