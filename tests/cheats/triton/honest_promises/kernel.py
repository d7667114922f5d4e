import triton
import triton.language as tl


@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(place, BLOCK), BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)
