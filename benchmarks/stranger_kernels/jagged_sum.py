import torch
import triton
import triton.language as tl


@triton.jit
def triton_jagged_sum_kernel(
    input_ptr_values, input_ptr_offsets, output_ptr, M, MAX_SEQLEN,
    BLOCK_SIZE_RAGGED: tl.constexpr, BLOCK_SIZE_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    pid_b = pid // tl.cdiv(M, BLOCK_SIZE_M)
    pid_m = pid % tl.cdiv(M, BLOCK_SIZE_M)
    buffer = tl.zeros((BLOCK_SIZE_RAGGED, BLOCK_SIZE_M), dtype=tl.float32)
    block_start_m = pid_m * BLOCK_SIZE_M
    offsets_m = block_start_m + tl.arange(0, BLOCK_SIZE_M)
    mask_m = offsets_m < M
    ragged_start = tl.load(input_ptr_offsets + pid_b)
    ragged_end = tl.load(input_ptr_offsets + (pid_b + 1))
    for block_start_ragged in range(0, MAX_SEQLEN, BLOCK_SIZE_RAGGED):
        offsets_ragged = ragged_start + block_start_ragged + tl.arange(0, BLOCK_SIZE_RAGGED)
        mask_ragged = offsets_ragged < ragged_end
        idxs = (offsets_ragged[:, None] * M) + offsets_m
        mask = mask_ragged[:, None] & mask_m
        buffer += tl.load(input_ptr_values + idxs, mask=mask, other=0)
    buffer_sum = tl.sum(buffer, axis=0)
    output_offsets = offsets_m + (pid_b * M)
    tl.store(output_ptr + output_offsets, buffer_sum, mask=mask_m)


def jagged_sum(values, offsets, max_seqlen):
    """values: [total, M], offsets: [B + 1]."""
    M = values.shape[-1]
    B = offsets.shape[0] - 1
    out = torch.empty((B, M), dtype=torch.float32, device=values.device)
    grid = lambda meta: (B * triton.cdiv(M, meta["BLOCK_SIZE_M"]),)
    triton_jagged_sum_kernel[grid](
        values, offsets, out, M, max_seqlen, BLOCK_SIZE_RAGGED=32, BLOCK_SIZE_M=32
    )
    return out
