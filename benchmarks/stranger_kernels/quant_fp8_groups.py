import torch
import triton
import triton.language as tl

FP8_MAX = 448.0


@triton.jit
def _per_token_group_quant_8bit(
    y_ptr, y_q_ptr, y_s_ptr, y_stride, N, eps, bit8_min, bit8_max, BLOCK: tl.constexpr
):  # fmt: skip
    g_id = tl.program_id(0)
    y_ptr += g_id.to(tl.int64) * y_stride
    y_q_ptr += g_id.to(tl.int64) * y_stride
    y_s_ptr += g_id
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    _absmax = tl.maximum(tl.max(tl.abs(y)), eps)
    y_s = _absmax / bit8_max
    y_s_inv = 1.0 / y_s
    y_q = tl.clamp(y * y_s_inv, bit8_min, bit8_max).to(y_q_ptr.dtype.element_ty)
    tl.store(y_q_ptr + cols, y_q, mask=mask)
    tl.store(y_s_ptr, y_s)


def per_token_group_quant_fp8(x, group_size=128, eps=1e-10):
    assert x.shape[-1] % group_size == 0
    x_q = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    M = x.numel() // group_size
    N = group_size
    x_s = torch.empty(
        x.shape[:-1] + (x.shape[-1] // group_size,), device=x.device, dtype=torch.float32
    )
    BLOCK = triton.next_power_of_2(N)
    num_warps = min(max(BLOCK // 256, 1), 8)
    _per_token_group_quant_8bit[(M,)](
        x, x_q, x_s, group_size, N, eps, bit8_min=-FP8_MAX, bit8_max=FP8_MAX, BLOCK=BLOCK,
        num_warps=num_warps, num_stages=1,
    )  # fmt: skip
    return x_q, x_s
