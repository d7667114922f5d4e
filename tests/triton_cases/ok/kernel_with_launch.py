"""A kernel without a wrapper: the launch says what the wrapper would."""

import triton
import triton.language as tl

CONTRACT = {
    "x": "input float32 [1000]",
    "y": "output float32 [1000]",
    "n": "scalar int32 1000",
}
LAUNCH = {
    "grid": ["cdiv(n, BLOCK)"],
    "constexprs": {"BLOCK": "next_pow2(n // 8)"},
    "num_warps": 2,
    "num_stages": 1,
}


@triton.heuristics({"EVEN": lambda values: values["n"] % values["BLOCK"] == 0})
@triton.jit
def run(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, SCALE: tl.constexpr = 3):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < n) | EVEN
    tl.store(y + at, tl.load(x + at, mask=inside) * SCALE, mask=inside)
