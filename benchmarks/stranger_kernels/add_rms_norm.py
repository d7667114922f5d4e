import triton
import triton.language as tl


@triton.jit
def _add_rms_norm_kernel(
    x_ptr,
    residual_ptr,
    w_ptr,
    x_row_stride,
    r_row_stride,
    n_cols: tl.constexpr,
    eps: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(0)
    x_ptr = x_ptr + pid * x_row_stride
    residual_ptr = residual_ptr + pid * r_row_stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + cols, mask, other=0.0).to(tl.float32)
    r = tl.load(residual_ptr + cols, mask, other=0.0).to(tl.float32)
    x += r
    tl.store(residual_ptr + cols, x, mask=mask)
    var = tl.sum(x * x / n_cols, axis=0)
    rrms = 1 / tl.sqrt(var + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    y = (x * rrms).to(x_ptr.dtype.element_ty) * w
    tl.store(x_ptr + cols, y, mask=mask)


def fused_add_rms_norm(x, residual, weight, eps=1e-5):
    """Both x and residual are updated in place."""
    M = x.numel() // x.shape[-1]
    N = x.shape[-1]
    BLOCK_SIZE = triton.next_power_of_2(N)
    _add_rms_norm_kernel[(M,)](
        x, residual, weight, x.stride(-2), residual.stride(-2), N, eps, BLOCK_SIZE=BLOCK_SIZE
    )
    return x, residual
