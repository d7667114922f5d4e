import torch
import triton
import triton.language as tl


@triton.jit
def welford_func(mean_1, count_1, M_1, mean_2, count_2, M_2):
    count = count_1 + count_2
    _count = tl.maximum(count, 1)
    mc_1 = mean_1 * count_1
    mc_2 = mean_2 * count_2
    mean = (mc_1 + mc_2) / _count
    M = M_1 + mc_1 * mean_1 + M_2 + mc_2 * mean_2 - count * mean * mean
    return mean, count, M


@triton.jit
def var_mean_welford_kernel(
    X, Var, Mean, M, N, correction, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    pid = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    X = X + pid * N
    Var = Var + pid
    Mean = Mean + pid
    row_mask = pid < M
    _mean = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    _acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    _count = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for off in range(0, N, BLOCK_N):
        cols = off + tl.arange(0, BLOCK_N)[None, :]
        col_mask = cols < N
        mask = row_mask and col_mask
        x = tl.load(X + cols, mask, other=0.0).to(tl.float32)
        count = _count + mask
        cnt = tl.maximum(count, 1)
        cur_mean = (_mean * _count + x) / cnt
        _acc += (x - cur_mean) * (x - _mean) * mask
        _mean = cur_mean
        _count = count
    mean, _, acc = tl.reduce((_mean, _count, _acc), axis=1, combine_fn=welford_func)
    var = acc / (N - correction)
    mean = mean[:, None]
    var = var[:, None]
    tl.store(Mean, mean, row_mask)
    tl.store(Var, var, row_mask)


def var_mean(x, correction=1):
    x = x.contiguous()
    M = x.numel() // x.shape[-1]
    N = x.shape[-1]
    var = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    mean = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]),)
    var_mean_welford_kernel[grid](x, var, mean, M, N, correction, BLOCK_M=4, BLOCK_N=64)
    return var, mean
