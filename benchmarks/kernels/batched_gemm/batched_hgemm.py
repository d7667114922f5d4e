"""c[i] = a[i] b[i] for many small fp16 matrices with fp32 sums: a program a tile of one c[i]."""

import torch
import triton
import triton.language as tl


@triton.jit
def batched_hgemm_kernel(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    matrix = tl.program_id(0)
    at_m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    at_n = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)
    a_rows = a + matrix * M * K + at_m[:, None] * K
    b_cols = b + matrix * K * N + at_n[None, :]

    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        at_k = k + tl.arange(0, BLOCK_K)
        a_inside = (at_m[:, None] < M) & (at_k[None, :] < K)
        b_inside = (at_k[:, None] < K) & (at_n[None, :] < N)
        a_values = tl.load(a_rows + at_k[None, :], mask=a_inside, other=0.0)
        b_values = tl.load(b_cols + at_k[:, None] * N, mask=b_inside, other=0.0)
        sums += tl.dot(a_values, b_values)

    c_tile = c + matrix * M * N + at_m[:, None] * N + at_n[None, :]
    tl.store(c_tile, sums.to(tl.float16), mask=(at_m[:, None] < M) & (at_n[None, :] < N))


def batched_hgemm(a, b, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32):
    batch, M, K = a.shape
    N = b.shape[2]
    c = torch.empty((batch, M, N), device=a.device, dtype=torch.float16)
    grid = (batch, triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    batched_hgemm_kernel[grid](a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K)
    return c
