import torch
import triton
import triton.language as tl


@triton.jit
def tile(a, b, c, M, N, K, BLOCK: tl.constexpr):
    at_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        at_k = k + tl.arange(0, BLOCK)
        a_inside = (at_m[:, None] < M) & (at_k[None, :] < K)
        b_inside = (at_k[:, None] < K) & (at_n[None, :] < N)
        left = tl.load(a + at_m[:, None] * K + at_k[None, :], mask=a_inside, other=0.0)
        right = tl.load(b + at_k[:, None] * N + at_n[None, :], mask=b_inside, other=0.0)
        sums = tl.dot(left, right, sums)
    inside = (at_m[:, None] < M) & (at_n[None, :] < N)
    tl.store(c + at_m[:, None] * N + at_n[None, :], sums, mask=inside)


def matmul(a, b):
    """C = A B with fp32 sums, a tile of 64 x 64 a program."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    tile[(triton.cdiv(M, 64), triton.cdiv(N, 64))](a, b, c, M, N, K, BLOCK=64)
    return c
