import torch
import triton
import triton.language as tl


@triton.jit
def _scaled_mm_kernel(
    a_ptr, b_ptr, scale_a_ptr, scale_b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // num_pid_n
    pid_n = pid % num_pid_n
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    offsets_am = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    masks_am = offsets_am < M
    offsets_bn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    masks_bn = offsets_bn < N
    offsets_k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + stride_am * offsets_am[:, None] + stride_ak * offsets_k[None, :]
    b_ptrs = b_ptr + stride_bk * offsets_k[:, None] + stride_bn * offsets_bn[None, :]
    for _k in range(0, tl.cdiv(K, BLOCK_K)):
        masks_k = offsets_k < K
        a = tl.load(a_ptrs, mask=masks_am[:, None] & masks_k[None, :], other=0)
        b = tl.load(b_ptrs, mask=masks_k[:, None] & masks_bn[None, :], other=0)
        accumulator = tl.dot(a, b, accumulator, out_dtype=tl.int32)
        offsets_k += BLOCK_K
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    scale_a = tl.load(scale_a_ptr + offsets_am, mask=masks_am, other=0.0)
    scale_b = tl.load(scale_b_ptr + offsets_bn, mask=masks_bn, other=0.0)
    c = accumulator.to(tl.float32) * scale_a[:, None] * scale_b[None, :]
    c_ptrs = c_ptr + stride_cm * offsets_am[:, None] + stride_cn * offsets_bn[None, :]
    tl.store(c_ptrs, c.to(c_ptr.type.element_ty), mask=masks_am[:, None] & masks_bn[None, :])


def triton_scaled_mm(input, weight, scale_a, scale_b, out_dtype=torch.float16):
    M, K = input.shape
    N = weight.shape[1]
    assert weight.shape[0] == K
    result = torch.empty((M, N), dtype=out_dtype, device=input.device)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
    _scaled_mm_kernel[grid](
        input, weight, scale_a, scale_b, result, M, N, K,
        input.stride(0), input.stride(1), weight.stride(0), weight.stride(1),
        result.stride(0), result.stride(1), BLOCK_M=32, BLOCK_N=32, BLOCK_K=64,
    )  # fmt: skip
    return result
