"""C = A B with fp16 operands and fp32 sums, a tile of BLOCK_M x BLOCK_N of C a program."""

import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a, b, c,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    # GROUP_M rows of tiles are worked through column by column: programs that run at the same
    # time then share tiles of A and B in L2. GROUP_M = 1 is the plain order, row by row.
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
