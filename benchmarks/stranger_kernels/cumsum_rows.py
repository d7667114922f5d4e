import torch
import triton
import triton.language as tl


@triton.jit
def chunk_cumsum_kernel(s, z, T, S: tl.constexpr, BT: tl.constexpr, BS: tl.constexpr):
    i_s, i_b = tl.program_id(0), tl.program_id(1)
    b_z = tl.zeros([BS], dtype=tl.float32)
    for i_t in range(tl.cdiv(T, BT)):
        p_s = tl.make_block_ptr(
            s + i_b * T * S, (T, S), (S, 1), (i_t * BT, i_s * BS), (BT, BS), (1, 0)
        )
        p_z = tl.make_block_ptr(
            z + i_b * T * S, (T, S), (S, 1), (i_t * BT, i_s * BS), (BT, BS), (1, 0)
        )
        b_s = tl.load(p_s, boundary_check=(0, 1)).to(tl.float32)
        b_c = b_z[None, :] + tl.cumsum(b_s, axis=0)
        tl.store(p_z, b_c.to(p_z.dtype.element_ty), boundary_check=(0, 1))
        if i_t >= 0:
            b_z += tl.sum(b_s, 0)


def chunk_global_cumsum(s: torch.Tensor) -> torch.Tensor:
    """s: [B, T, S], along T."""
    B, T, S = s.shape
    BS = min(32, triton.next_power_of_2(S))
    z = torch.empty_like(s, dtype=torch.float)
    grid = (triton.cdiv(S, BS), B)
    chunk_cumsum_kernel[grid](s, z, T=T, S=S, BT=64, BS=BS)
    return z
