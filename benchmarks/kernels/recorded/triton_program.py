"""Triton kernels as people write them: masked, autotuned, with tensor descriptors of the device."""

import hashlib

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(out, x, step_in, step_out, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * step_in + c, c < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * step_out + c, e / tl.sum(e, 0), c < columns)


@triton.autotune(
    [triton.Config({"BM": 128, "BN": n, "BK": 64}, num_warps=8) for n in (128, 256)],
    key=["M", "N", "K"],
)
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    of_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(of_a.load([m, k]), of_b.load([k, n]), total)
    tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN]).store([m, n], total.to(tl.float16))


def main():
    torch.manual_seed(0)
    triton.set_allocator(lambda size, *_: torch.empty(size, device="cuda", dtype=torch.int8))
    x, y = torch.randn(2, 1 << 20, device="cuda").unbind()
    out = torch.empty_like(x)
    for n in (1 << 20, 99_999):
        add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    rows = torch.randn(4096, 3000, device="cuda")
    soft = torch.empty_like(rows)
    for _ in range(100):
        softmax[(4096,)](soft, rows, rows.stride(0), soft.stride(0), 3000, BLOCK=4096)
    size = 1024
    a, b, c = (torch.randn(size, size, device="cuda").half() for _ in range(3))
    for _ in range(2):
        matmul[lambda at: (size // at["BM"], size // at["BN"])](a, b, c, size, size, size)
    torch.cuda.synchronize()
    found = b"".join(t.cpu().numpy().tobytes() for t in (out, soft, c))
    print("digest", hashlib.sha256(found).hexdigest()[:16], flush=True)


main()
