import triton
import triton.language as tl


@triton.jit
def lift(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = 2.0 * tl.load(x + at, mask=at < n, other=0.0) + 1.0
    tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.s32 p, $3, 0; @p st.global.cs.f32 [$1], $2; mov.u32 $0, 0; }",
        "=r,l,f,r",
        [(y + at).to(tl.int64), value, (at < n).to(tl.int32)],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
