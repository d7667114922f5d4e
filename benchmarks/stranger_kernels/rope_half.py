import triton
import triton.language as tl

ROPE_GROUP_SIZE = 4


@triton.heuristics({"BACKWARD_PASS": lambda args: bool(args["BACKWARD_PASS"])})
@triton.jit
def _rope_embedding(
    Q, Q_row_stride, cos, cos_row_stride, sin, sin_row_stride, seqlen,
    head_dim: tl.constexpr, n_heads: tl.constexpr,
    BACKWARD_PASS: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    GROUP: tl.constexpr = 4
    row_position = tl.program_id(0)
    group_head_position = tl.program_id(1)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    half_head_dim = head_dim // 2
    mask = col_offsets < half_head_dim

    sin1 = tl.load(sin + (row_position % seqlen) * sin_row_stride + col_offsets, mask=mask, other=0)
    cos1 = tl.load(cos + (row_position % seqlen) * cos_row_stride + col_offsets, mask=mask, other=0)
    if BACKWARD_PASS:
        sin1 = -sin1

    head_start = group_head_position * GROUP
    head_end = min((head_start + GROUP), n_heads)
    for k in range(head_start, head_end):
        offs_q1 = row_position * Q_row_stride + k * head_dim + col_offsets
        offs_q2 = offs_q1 + half_head_dim
        Q1 = tl.load(Q + offs_q1, mask=mask, other=0).to(sin1.dtype)
        Q2 = tl.load(Q + offs_q2, mask=mask, other=0).to(sin1.dtype)
        tl.store(Q + offs_q1, Q1 * cos1 - Q2 * sin1, mask=mask)
        tl.store(Q + offs_q2, Q2 * cos1 + Q1 * sin1, mask=mask)


def rope_embedding(Q, cos, sin):
    """Q: [batch, seq_len, n_heads, head_dim], in place."""
    batch, seq_len, n_heads, head_dim = Q.shape
    Q = Q.reshape(batch * seq_len, n_heads * head_dim)
    n_rows, _ = Q.shape
    BLOCK_SIZE = triton.next_power_of_2(head_dim // 2)
    div, mod = divmod(n_heads, ROPE_GROUP_SIZE)
    n_groups = div + (mod != 0)
    _rope_embedding[(n_rows, n_groups)](
        Q, Q.stride(0), cos, cos.stride(0), sin, sin.stride(0), seq_len, head_dim, n_heads,
        BACKWARD_PASS=False, BLOCK_SIZE=BLOCK_SIZE, num_warps=4,
    )  # fmt: skip
    return Q.view(batch, seq_len, n_heads, head_dim)
