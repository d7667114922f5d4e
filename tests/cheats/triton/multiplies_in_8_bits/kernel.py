import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    at_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        at_k = k + tl.arange(0, BLOCK)
        left = tl.load(
            a + at_m[:, None] * K + at_k[None, :],
            mask=(at_m[:, None] < M) & (at_k[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + at_k[:, None] * N + at_n[None, :],
            mask=(at_k[:, None] < K) & (at_n[None, :] < N),
            other=0.0,
        )
        sums = tl.dot(left.to(tl.float8e5), right.to(tl.float8e5), sums)
    tl.store(
        c + at_m[:, None] * N + at_n[None, :], sums, mask=(at_m[:, None] < M) & (at_n[None, :] < N)
    )
