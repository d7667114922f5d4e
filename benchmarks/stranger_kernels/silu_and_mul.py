import torch
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def _silu_and_mul_kernel(out_ptr, x_ptr, stride_x, stride_out, d, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride_x
    out_ptr += row * stride_out
    offs = tl.arange(0, BLOCK_SIZE)
    mask = offs < d
    gate = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + d + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, silu(gate).to(up.dtype) * up, mask=mask)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """x: [..., 2 * d], the gate first."""
    ori_shape = x.shape
    d = ori_shape[-1] // 2
    x = x.contiguous().view(-1, ori_shape[-1])
    n_rows = x.shape[0]
    out = torch.empty((n_rows, d), dtype=x.dtype, device=x.device)
    BLOCK_SIZE = triton.next_power_of_2(d)
    num_warps = 4
    if BLOCK_SIZE >= 8192:
        num_warps = 16
    elif BLOCK_SIZE >= 2048:
        num_warps = 8
    _silu_and_mul_kernel[(n_rows,)](
        out, x, x.stride(0), out.stride(0), d, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
    )
    return out.view(*ori_shape[:-1], d)
