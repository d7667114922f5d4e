"""c = a b with fp16 operands and fp32 sums: a program a tile of c, on a grid of tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def hgemm_kernel(
    a, b, c,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    at_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    at_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    at_k = tl.arange(0, BLOCK_K)
    a_tile = a + at_m[:, None] * stride_am + at_k[None, :] * stride_ak
    b_tile = b + at_k[:, None] * stride_bk + at_n[None, :] * stride_bn

    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_inside = (at_m[:, None] < M) & (at_k[None, :] < K - k)
        b_inside = (at_k[:, None] < K - k) & (at_n[None, :] < N)
        a_values = tl.load(a_tile, mask=a_inside, other=0.0)
        b_values = tl.load(b_tile, mask=b_inside, other=0.0)
        sums += tl.dot(a_values, b_values)
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk

    c_tile = c + at_m[:, None] * stride_cm + at_n[None, :] * stride_cn
    tl.store(c_tile, sums.to(tl.float16), mask=(at_m[:, None] < M) & (at_n[None, :] < N))


def hgemm(a, b, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    hgemm_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
    )  # fmt: skip
    return c
