import triton
import triton.language as tl


@triton.jit
def affine(x, weight, bias, y, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        scale, shift = tl.load(weight + at, mask=mask), tl.load(bias + at, mask=mask)
        value = tl.load(x + row * cols + at, mask=mask)
        tl.store(y + row * cols + at, tl.fma(value, scale, shift), mask=mask)
