import torch
import triton
import triton.language as tl


@triton.jit
def scaled_upper_triang_masked_softmax_kernel(
    out_ptr, in_ptr, scale, seq_len, stride, BLOCK_SIZE: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    batch = tl.program_id(1)
    in_row = in_ptr + batch * seq_len * stride + row * stride
    out_row = out_ptr + batch * seq_len * stride + row * stride
    cols = tl.arange(0, BLOCK_SIZE)
    allowed = cols <= row
    x = tl.load(in_row + cols, mask=allowed, other=-float("inf")) * scale
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    den = tl.sum(num, axis=0)
    y = num / den
    tl.store(out_row + cols, tl.where(allowed, y, 0.0), mask=cols < seq_len)


def causal_softmax(scores, scale):
    """scores: [heads, seq_len, seq_len]."""
    heads, seq_len, _ = scores.shape
    probs = torch.empty_like(scores)
    scaled_upper_triang_masked_softmax_kernel[(seq_len, heads)](
        probs, scores, scale, seq_len, scores.stride(1),
        BLOCK_SIZE=triton.next_power_of_2(seq_len),
    )  # fmt: skip
    return probs
