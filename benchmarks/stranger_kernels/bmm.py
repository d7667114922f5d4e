import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    A, B, O, M, N, K,
    stride_ab, stride_am, stride_ak, stride_bb, stride_bk, stride_bn,
    stride_ob, stride_om, stride_on,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr,
):  # fmt: skip
    pid_b = tl.program_id(2)
    A += pid_b * stride_ab
    B += pid_b * stride_bb
    O += pid_b * stride_ob
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * TILE_M + tl.arange(0, TILE_M)
    offs_n = pid_n * TILE_N + tl.arange(0, TILE_N)
    offs_k = tl.arange(0, TILE_K)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_ptrs = A + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = B + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    o = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, TILE_K)):
        mask_k = k * TILE_K + offs_k < K
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        o += tl.dot(a, b, allow_tf32=False)
        a_ptrs += TILE_K * stride_ak
        b_ptrs += TILE_K * stride_bk
    o_ptrs = O + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    tl.store(o_ptrs, o.to(O.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


def bmm(A, B):
    assert A.shape[0] == B.shape[0], "Batch dim mismatch"
    assert A.shape[2] == B.shape[1], "K dim mismatch"
    batch, M, K = A.shape
    _, _, N = B.shape
    out = torch.empty((batch, M, N), dtype=A.dtype, device=A.device)

    def grid(meta):
        return (triton.cdiv(M, meta["TILE_M"]), triton.cdiv(N, meta["TILE_N"]), batch)

    bmm_kernel[grid](
        A, B, out, M, N, K, *A.stride(), *B.stride(), *out.stride(),
        TILE_M=32, TILE_N=32, TILE_K=32,
    )  # fmt: skip
    return out
