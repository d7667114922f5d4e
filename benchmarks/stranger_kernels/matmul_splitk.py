import torch
import triton
import triton.language as tl


@triton.jit
def gemm_split_k_kernel(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    m, n, k,
    block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
    split_k: tl.constexpr, group_m: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    pid_k = tl.program_id(1)
    num_pid_m = tl.cdiv(m, block_m)
    num_pid_n = tl.cdiv(n, block_n)
    num_pid_in_group = group_m * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * group_m
    group_size_m = min(num_pid_m - first_pid_m, group_m)
    pid_m = first_pid_m + (pid % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_m = pid_m * block_m + tl.arange(0, block_m)
    offs_n = pid_n * block_n + tl.arange(0, block_n)
    offs_k = pid_k * block_k + tl.arange(0, block_k)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((block_m, block_n), dtype=tl.float32)
    for k_ in range(0, tl.cdiv(k, block_k * split_k)):
        k_mask = offs_k < k - k_ * (block_k * split_k)
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < m) & k_mask[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=k_mask[:, None] & (offs_n[None, :] < n), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += block_k * split_k * stride_ak
        b_ptrs += block_k * split_k * stride_bk
    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
    mask = (offs_m[:, None] < m) & (offs_n[None, :] < n)
    tl.atomic_add(c_ptrs, acc, mask=mask)


def gemm_split_k(a, b):
    m, k = a.shape
    _, n = b.shape
    block_m, block_n, block_k, group_m = 32, 32, 32, 8
    split_k = 4
    total_programs_mn = triton.cdiv(m, block_m) * triton.cdiv(n, block_n)
    grid = (total_programs_mn, split_k)
    c = torch.zeros((m, n), device=a.device, dtype=torch.float32)
    gemm_split_k_kernel[grid](
        a, b, c, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        m, n, k, block_m, block_n, block_k, split_k, group_m, num_stages=2, num_warps=4,
    )  # fmt: skip
    return c
