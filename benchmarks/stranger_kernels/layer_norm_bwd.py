import torch
import triton
import triton.language as tl


@triton.jit
def _bwd_dx_partial(
    X, DY, W, MEAN, RSTD, DX, PDW, PDB, n_rows, n_cols, BLOCK_N: tl.constexpr
):  # fmt: skip
    pid = tl.program_id(0)
    n_programs = tl.num_programs(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < n_cols
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK_N], dtype=tl.float32)
    db = tl.zeros([BLOCK_N], dtype=tl.float32)
    for row in range(pid, n_rows, n_programs):
        x = tl.load(X + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(MEAN + row)
        rstd = tl.load(RSTD + row)
        xhat = tl.where(mask, (x - mean) * rstd, 0.0)
        wdy = tl.where(mask, w * dy, 0.0)
        c1 = tl.sum(xhat * wdy, axis=0) / n_cols
        c2 = tl.sum(wdy, axis=0) / n_cols
        dx = (wdy - (xhat * c1 + c2)) * rstd
        tl.store(DX + row * n_cols + cols, dx, mask=mask)
        dw += dy * xhat
        db += dy
    tl.store(PDW + pid * n_cols + cols, dw, mask=mask)
    tl.store(PDB + pid * n_cols + cols, db, mask=mask)


@triton.jit
def _bwd_dwdb(
    PDW, PDB, DW, DB, n_parts, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, n_parts, BLOCK_M):
        rows = i + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < n_parts) & (cols[None, :] < n_cols)
        offs = rows[:, None] * n_cols + cols[None, :]
        dw += tl.load(PDW + offs, mask=mask, other=0.0)
        db += tl.load(PDB + offs, mask=mask, other=0.0)
    tl.store(DW + cols, tl.sum(dw, axis=0), mask=cols < n_cols)
    tl.store(DB + cols, tl.sum(db, axis=0), mask=cols < n_cols)


def layer_norm_backward(dy, x, weight, mean, rstd):
    n_rows, n_cols = x.shape
    n_programs = min(n_rows, 16)
    dx = torch.empty_like(dy)
    pdw = torch.empty((n_programs, n_cols), dtype=torch.float32, device=x.device)
    pdb = torch.empty((n_programs, n_cols), dtype=torch.float32, device=x.device)
    dw = torch.empty((n_cols,), dtype=weight.dtype, device=x.device)
    db = torch.empty((n_cols,), dtype=weight.dtype, device=x.device)
    _bwd_dx_partial[(n_programs,)](
        x, dy, weight, mean, rstd, dx, pdw, pdb, n_rows, n_cols,
        BLOCK_N=triton.next_power_of_2(n_cols),
    )  # fmt: skip
    grid = lambda meta: (triton.cdiv(n_cols, meta["BLOCK_N"]),)
    _bwd_dwdb[grid](pdw, pdb, dw, db, n_programs, n_cols, BLOCK_M=32, BLOCK_N=64)
    return dx, dw, db
