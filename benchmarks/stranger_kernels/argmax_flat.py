import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel_1(inp, mid_value, mid_index, M, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offset = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offset < M
    inp_val = tl.load(inp + offset, mask=mask, other=-float("inf"))
    max_val, max_index = tl.max(inp_val, axis=0, return_indices=True)
    max_index = max_index + pid * BLOCK_SIZE
    tl.store(mid_value + pid, max_val)
    tl.store(mid_index + pid, max_index)


@triton.jit
def argmax_kernel_2(mid_value, mid_index, out, mid_size, BLOCK_MID: tl.constexpr):
    offset = tl.arange(0, BLOCK_MID)
    mask = offset < mid_size
    mid_val = tl.load(mid_value + offset, mask=mask, other=-float("inf"))
    index_val = tl.argmax(mid_val, axis=0)
    out_val = tl.load(mid_index + index_val)
    tl.store(out, out_val)


def argmax(inp):
    M = inp.numel()
    block_size = 1024
    mid_size = triton.cdiv(M, block_size)
    block_mid = triton.next_power_of_2(mid_size)
    mid_value = torch.empty((mid_size,), dtype=inp.dtype, device=inp.device)
    mid_index = torch.empty((mid_size,), dtype=torch.int64, device=inp.device)
    out = torch.empty([1], dtype=torch.int64, device=inp.device)
    argmax_kernel_1[(mid_size, 1, 1)](inp, mid_value, mid_index, M, block_size)
    argmax_kernel_2[(1, 1, 1)](mid_value, mid_index, out, mid_size, block_mid)
    return out
