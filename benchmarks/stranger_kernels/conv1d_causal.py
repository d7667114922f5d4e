import torch
import triton
import triton.language as tl


@triton.jit
def _causal_conv1d_fwd_kernel(
    x_ptr, w_ptr, bias_ptr, o_ptr, dim, seqlen, stride_x_seq, stride_x_dim,
    HAS_BIAS: tl.constexpr, KERNEL_WIDTH: tl.constexpr, SILU_ACTIVATION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    idx_seq = tl.program_id(0)
    idx_m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    idx_feats = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)
    x_base = x_ptr + idx_seq * stride_x_seq
    mask_feats = idx_feats < dim
    if HAS_BIAS:
        bias = tl.load(bias_ptr + idx_feats, mask=mask_feats, other=0.0).to(tl.float32)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) + bias[None, :]
    else:
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for j in tl.static_range(KERNEL_WIDTH):
        t = idx_m - (KERNEL_WIDTH - 1) + j
        w_col = tl.load(w_ptr + idx_feats * KERNEL_WIDTH + j, mask=mask_feats, other=0.0)
        mask_x = ((t >= 0) & (t < seqlen))[:, None] & mask_feats[None, :]
        x = tl.load(x_base + t[:, None] * stride_x_dim + idx_feats[None, :], mask=mask_x, other=0.0)
        acc += x * w_col[None, :]
    if SILU_ACTIVATION:
        acc = acc / (1 + tl.exp(-acc))
    mask = (idx_m < seqlen)[:, None] & mask_feats[None, :]
    o_ptrs = o_ptr + idx_seq * stride_x_seq + idx_m[:, None] * stride_x_dim + idx_feats[None, :]
    tl.store(o_ptrs, acc, mask=mask)


def causal_conv1d_fn(x, weight, bias=None, activation="silu"):
    """x: [batch, seqlen, dim], weight: [dim, width]."""
    batch, seqlen, dim = x.shape
    _, width = weight.shape
    out = torch.empty_like(x)
    grid = (batch, triton.cdiv(seqlen, 8), triton.cdiv(dim, 256))
    _causal_conv1d_fwd_kernel[grid](
        x, weight, bias, out, dim, seqlen, x.stride(0), x.stride(1),
        HAS_BIAS=bias is not None, KERNEL_WIDTH=width,
        SILU_ACTIVATION=activation in ["silu", "swish"], BLOCK_M=8, BLOCK_N=256, num_stages=2,
    )  # fmt: skip
    return out
