import triton
import triton.language as tl


@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = 2.0 * tl.load(x + at, mask=at < n, other=0.0) + 1.0
    tl.inline_asm_elementwise(
        "st.global.f32 [$1], $2; mov.u32 $0, 0;",
        "=r,l,f",
        [(y + at).to(tl.int64), value],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
