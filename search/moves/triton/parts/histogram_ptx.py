"""The text of a kernel that counts bytes in shared memory.

Triton has no way to add to a place in shared memory that depends on data: `tl.histogram` compares
by ballots, and `tl.atomic_add` goes to global memory. So additions are inline PTX here, and so are
the 32 KB that they go to. PTX stays as small as that: loads, bounds, the loop over blocks and the
addition to global memory are Triton's. No address that PTX computes can leave the counters, as a
byte has 256 values and a warp 32 lanes; no barrier and no branch is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Template

NAMES = re.compile(r"@(\w+)")
START = """\
tl.static_assert($X.dtype.element_ty == tl.uint8, "a counter for each value of a byte")
tl.static_assert(@WORDS >= 4096, "at least four words for each of 1024 threads: none counts twice")
tl.static_assert(4 * @WORDS % $BLOCK == 0, "blocks of words end where a block of values does")
@counters = tl.inline_asm_elementwise(
    ".shared .align 128 .b8 counters[32768]; mov.u32 $$0, counters;",
    "=r", [], tl.int32, False, 1,
)
@own = @counters + 4 * tl.inline_asm_elementwise(
    "mov.u32 $$0, %laneid;", "=r", [], tl.int32, True, 1
)
tl.inline_asm_elementwise(
    "st.shared.v4.b32 [$$1], {0, 0, 0, 0}; mov.b32 $$0, 0;",
    "=r,r", [@counters + 16 * tl.arange(0, 2048)], tl.int32, False, 1,
)
tl.debug_barrier()
@source = $X.to(tl.pointer_type(tl.int32))
@whole = tl.where(($X.to(tl.int64) & 3) == 0, $N // (4 * @WORDS), 0)
"""
PLAIN = """\
for @block in tl.range(tl.program_id(0), @whole, tl.num_programs(0), num_stages=1):
    @word = tl.load(@source + @block * @WORDS + tl.arange(0, @WORDS))
"""
AHEAD = """\
@ahead = tl.load(
    @source + tl.program_id(0) * @WORDS + tl.arange(0, @WORDS),
    mask=tl.program_id(0) < @whole,
    other=0,
)
for @block in tl.range(tl.program_id(0), @whole, tl.num_programs(0), num_stages=1):
    @word = @ahead
    @follows = @block + tl.num_programs(0)
    @ahead = tl.load(
        @source + @follows * @WORDS + tl.arange(0, @WORDS), mask=@follows < @whole, other=0
    )
"""
COUNT = """\
    tl.inline_asm_elementwise(
        "{ .reg .b32 a, b, c, d;"
        " dp4a.u32.u32 a, $$1, 0x80, $$2;"
        " dp4a.u32.u32 b, $$1, 0x8000, $$2;"
        " dp4a.u32.u32 c, $$1, 0x800000, $$2;"
        " dp4a.u32.u32 d, $$1, 0x80000000, $$2;"
        " red.shared.add.u32 [a], 1;"
        " red.shared.add.u32 [b], 1;"
        " red.shared.add.u32 [c], 1;"
        " red.shared.add.u32 [d], 1;"
        " mov.b32 $$0, 0; }",
        "=r,r,r", [@word, @own], tl.int32, False, 1,
    )
"""
"""the counter of byte i of a word, 128 bytes a bin, is where a dot product of bytes says"""
MERGE = """\
tl.debug_barrier()
@place = tl.arange(0, $SIZE)
@counts = tl.zeros(($SIZE,), dtype=tl.int32)
for @lane in tl.static_range(32):
    @counts += tl.inline_asm_elementwise(
        "ld.shared.b32 $$0, [$$1];",
        "=r,r", [@counters + 128 * @place + 4 * ((@place + @lane) & 31)], tl.int32, False, 1,
    )
tl.atomic_add($BINS + @place, @counts$KEYWORDS)
for @program in tl.range(
    @whole * (4 * @WORDS // $BLOCK) + tl.program_id(0), tl.cdiv($N, $BLOCK), tl.num_programs(0)
):
"""


@dataclass(frozen=True)
class Counted:
    """`bins[values[i]] += 1` for every i below a size, a block of values a program."""

    values: str
    bins: str
    size: int
    count: str
    block: str
    keywords: str
    """of the atomic addition but its mask"""


def text_of(
    found: Counted, fresh: Callable[[str], str], *, ahead: bool
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Lines above a body that counts a block of values, and the names in them by their role.

    The last line begins a loop over blocks that are left, `program` in its turn each.
    """
    text = START + (AHEAD if ahead else PLAIN) + COUNT + MERGE
    names = {n: fresh(n) for n in NAMES.findall(text)}
    made = Template(NAMES.sub(lambda n: names[n[1]], text)).substitute(
        X=found.values,
        BINS=found.bins,
        SIZE=found.size,
        N=found.count,
        BLOCK=found.block,
        KEYWORDS=found.keywords,
    )
    return tuple(made.splitlines()), names
