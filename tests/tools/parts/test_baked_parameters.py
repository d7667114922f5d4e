"""Parameter values find their places in sources."""

from __future__ import annotations

from kernelwright.tools.parts.baked_parameters import bake

TRITON = """\
BLOCK = 256

def run(x):
    kernel[(1,)](x, TILE=64, num_warps=4)
    other[(1,)](x, DEPTH=1)
    other[(1,)](x, DEPTH=2)
"""


def test_guarded_macros_take_the_values_and_the_rest_is_told() -> None:
    source = "#ifndef TILE\n#define TILE 8 // rows\n#endif\n"
    found = bake(source, {"TILE": 32, "block_x": 128}, "cuda")
    assert found.source == source.replace("TILE 8", "TILE 32")
    assert (found.values, found.flags) == ({"TILE": 32}, {"block_x": 128})


def test_triton_takes_them_in_constants_and_launches_where_there_is_one_place() -> None:
    found = bake(TRITON, {"BLOCK": 1024, "TILE": 128, "num_warps": 8, "DEPTH": 3}, "triton")
    expected = (
        TRITON.replace("= 256", "= 1024").replace("=64", "=128").replace("warps=4", "warps=8")
    )
    assert found.source == expected
    assert found.flags == {"DEPTH": 3}
