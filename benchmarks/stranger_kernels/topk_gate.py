import torch
import triton
import triton.language as tl


@triton.jit
def _gate_top2_kernel(
    logits_ptr, weights_ptr, ids_ptr, n_tokens, n_experts: tl.constexpr,
    BLOCK_E: tl.constexpr, RENORMALIZE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK_E)
    mask = offs < n_experts
    x = tl.load(logits_ptr + pid * n_experts + offs, mask=mask, other=float("-inf"))
    x = x - tl.max(x, axis=0)
    num = tl.exp(x)
    probs = num / tl.sum(num, axis=0)
    first = tl.argmax(probs, axis=0)
    p1 = tl.max(probs, axis=0)
    rest = tl.where(offs == first, -1.0, probs)
    rest = tl.where(mask, rest, -1.0)
    second = tl.argmax(rest, axis=0)
    p2 = tl.max(rest, axis=0)
    if RENORMALIZE:
        denom = p1 + p2
        p1 = p1 / denom
        p2 = p2 / denom
    tl.store(weights_ptr + pid * 2, p1)
    tl.store(weights_ptr + pid * 2 + 1, p2)
    tl.store(ids_ptr + pid * 2, first)
    tl.store(ids_ptr + pid * 2 + 1, second)


def fused_top2(gating_output: torch.Tensor, renormalize: bool = True):
    M, E = gating_output.shape
    topk_weights = torch.empty(M, 2, dtype=torch.float32, device=gating_output.device)
    topk_ids = torch.empty(M, 2, dtype=torch.int32, device=gating_output.device)
    _gate_top2_kernel[(M,)](
        gating_output, topk_weights, topk_ids, M, E,
        BLOCK_E=triton.next_power_of_2(E), RENORMALIZE=renormalize,
    )  # fmt: skip
    return topk_weights, topk_ids
