import torch
import triton
import triton.language as tl


@triton.jit
def _attn_fwd(
    Q, K, V, Out, L, sm_scale, stride_z, stride_h, stride_m, stride_k, H, N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    base = off_z * stride_z + off_h * stride_h
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = Q + base + offs_m[:, None] * stride_m + offs_d[None, :] * stride_k
    q = tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.0)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    hi = (start_m + 1) * BLOCK_M if CAUSAL else N_CTX
    hi = tl.minimum(hi, N_CTX)
    for start_n in range(0, hi, BLOCK_N):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        n = start_n + offs_n
        k = tl.load(
            K + base + n[None, :] * stride_m + offs_d[:, None] * stride_k,
            mask=n[None, :] < N_CTX, other=0.0,
        )  # fmt: skip
        qk = tl.dot(q, k) * qk_scale
        valid = n[None, :] < N_CTX
        if CAUSAL:
            valid = valid & (offs_m[:, None] >= n[None, :])
        qk = tl.where(valid, qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(
            V + base + n[:, None] * stride_m + offs_d[None, :] * stride_k,
            mask=n[:, None] < N_CTX, other=0.0,
        )  # fmt: skip
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(L + off_hz * N_CTX + offs_m, m_i + tl.math.log2(l_i), mask=offs_m < N_CTX)
    o_ptrs = Out + base + offs_m[:, None] * stride_m + offs_d[None, :] * stride_k
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def attention(q, k, v, causal=True):
    HEAD_DIM_Q, HEAD_DIM_K = q.shape[-1], k.shape[-1]
    assert HEAD_DIM_Q == HEAD_DIM_K
    assert HEAD_DIM_K in {16, 32, 64, 128, 256}
    sm_scale = HEAD_DIM_K**-0.5
    o = torch.empty_like(q)
    Z, H, N_CTX, D = q.shape
    lse = torch.empty((Z * H, N_CTX), device=q.device, dtype=torch.float32)
    grid = lambda args: (triton.cdiv(N_CTX, args["BLOCK_M"]), Z * H, 1)
    _attn_fwd[grid](
        q, k, v, o, lse, sm_scale, q.stride(0), q.stride(1), q.stride(2), q.stride(3), H, N_CTX,
        HEAD_DIM=HEAD_DIM_K, BLOCK_M=64, BLOCK_N=32, CAUSAL=causal, num_warps=4, num_stages=2,
    )  # fmt: skip
    return o
