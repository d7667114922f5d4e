import torch
import triton
import triton.language as tl


def _heur_tile(args):
    return min(triton.next_power_of_2(args["N"]), 1024)


def _heur_warps(args):
    return 4 if args["N"] < 4096 else 8


@triton.heuristics({"TILE_N": _heur_tile, "num_warps": _heur_warps})
@triton.jit
def softmax_kernel_inner(output_ptr, input_ptr, M, N, TILE_N: tl.constexpr):
    pid_m = tl.program_id(0)
    m = tl.full([TILE_N], value=float("-inf"), dtype=tl.float32)
    z = tl.full([TILE_N], value=0.0, dtype=tl.float32)
    input_ptr += pid_m * N
    output_ptr += pid_m * N
    for start_n in range(0, N, TILE_N):
        n_offsets = start_n + tl.arange(0, TILE_N)
        mask = n_offsets < N
        inp = tl.load(input_ptr + n_offsets, mask=mask, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, inp)
        all_neg_inf = m_new == float("-inf")
        z = tl.where(all_neg_inf, z, z * tl.exp(m - m_new) + tl.exp(inp - m_new))
        m = m_new
    m_reduced = tl.max(m, 0)
    z = tl.sum(z * tl.exp(m - m_reduced), 0)
    m = m_reduced
    for start_n in range(0, N, TILE_N):
        n_offsets = start_n + tl.arange(0, TILE_N)
        mask = n_offsets < N
        inp = tl.load(input_ptr + n_offsets, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(output_ptr + n_offsets, tl.exp(inp - m) / z, mask=mask)


def softmax(self, dim=-1):
    assert dim >= -self.ndim and dim < self.ndim, "Invalid dim"
    dim = dim % self.ndim
    M = 1
    N = self.shape[dim]
    for i in range(dim):
        M *= self.shape[i]
    self = self.contiguous()
    out = torch.empty_like(self, dtype=self.dtype)
    softmax_kernel_inner[(M, 1, 1)](out, self, M, N)
    return out
