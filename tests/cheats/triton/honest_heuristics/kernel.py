import triton
import triton.language as tl


@triton.heuristics(
    {"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "num_warps": lambda args: 4}
)
@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y + at, 2.0 * tl.load(x + at) + 1.0)
    else:
        tl.store(y + at, 2.0 * tl.load(x + at, mask=at < n) + 1.0, mask=at < n)
