import torch
import triton
import triton.language as tl


@triton.jit
def spread_block(x, y, rows, cols, R: tl.constexpr, C: tl.constexpr):
    to = tl.make_tensor_descriptor(y, [rows, cols], [cols, 1], [R, C])
    row, col = tl.program_id(0) * R, tl.program_id(1) * C
    at = col + tl.arange(0, C)
    value = 2.0 * tl.load(x + at, mask=at < cols, other=0.0) + 1.0
    to.store([row, col], tl.broadcast_to(value[None, :], (R, C)))


@triton.jit
def spread_plainly(x, y, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2.0 * tl.load(x + at % cols, mask=at < n) + 1.0, mask=at < n)


def spread(x, rows):
    cols = x.numel()
    y = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
    if cols % 4:
        n = rows * cols
        spread_plainly[(triton.cdiv(n, 1024),)](x, y, n, cols, BLOCK=1024)
        return y
    triton.set_allocator(lambda size, alignment, stream: x)
    grid = (triton.cdiv(rows, 8), triton.cdiv(cols, 128))
    spread_block[grid](x, y, rows, cols, R=8, C=128)
    return y
