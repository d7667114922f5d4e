"""C = A B with fp16 operands and fp32 sums: the kernel of `matmul.py` with Triton's own tuner."""

import torch
import triton
import triton.language as tl


def config(block_m, block_n, block_k, warps, stages):
    sizes = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    return triton.Config(sizes, num_warps=warps, num_stages=stages)


@triton.autotune(
    configs=[
        config(128, 256, 64, 8, 3),
        config(64, 256, 32, 4, 4),
        config(128, 128, 32, 4, 4),
        config(128, 64, 32, 4, 4),
        config(64, 128, 32, 4, 4),
        config(128, 32, 32, 4, 4),
        config(64, 32, 32, 2, 5),
        config(32, 64, 32, 2, 5),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a, b, c,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    # GROUP_M rows of tiles are worked through column by column: programs that run at the same
    # time then share tiles of A and B in L2.
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = program // (GROUP_M * tiles_n) * GROUP_M
    rows_in_group = min(tiles_m - first_m, GROUP_M)
    in_group = program % (GROUP_M * tiles_n)
    tile_m, tile_n = first_m + in_group % rows_in_group, in_group // rows_in_group

    at_m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    at_n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    at_k = tl.arange(0, BLOCK_K)
    a_tile = a + at_m[:, None] * stride_am + at_k[None, :] * stride_ak
    b_tile = b + at_k[:, None] * stride_bk + at_n[None, :] * stride_bn

    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_inside = (at_m[:, None] < M) & (at_k[None, :] < K - k)
        b_inside = (at_k[:, None] < K - k) & (at_n[None, :] < N)
        sums = tl.dot(
            tl.load(a_tile, mask=a_inside, other=0.0),
            tl.load(b_tile, mask=b_inside, other=0.0),
            sums,
        )
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk

    c_tile = c + at_m[:, None] * stride_cm + at_n[None, :] * stride_cn
    tl.store(c_tile, sums.to(tl.float16), mask=(at_m[:, None] < M) & (at_n[None, :] < N))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)

    def grid(config):
        return (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)

    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c
