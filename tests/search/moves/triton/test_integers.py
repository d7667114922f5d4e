"""Integers in what is written: as wide as the kernel had them, whatever the arrays hold."""

from __future__ import annotations

from typing import Any

import pytest
from triton_bench import TritonBench
from triton_moves import applied

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.search.moves.shared.base import NotApplicable, State
from kernelwright.search.moves.triton.schedules import MOVES

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
ROW = """\
    total = tl.zeros([16], {kind})
    for start in range(0, cols, 16):
        c = start + tl.arange(0, 16)
        value = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=0).to({kind})
        total += {term}
    tl.store(y + tl.program_id(0), tl.sum(total))
"""
BODIES: dict[str, tuple[str, str, str, tuple[int, int], str]] = {
    "long sums of words": (
        ROW.format(kind="tl.int64", term="value"), "int32", "int64", (0, 2_000_000_000),
        "x.astype(np.int64).sum(1)",
    ),
    "sums of squares of bytes": (
        ROW.format(kind="tl.int32", term="value * value"), "int8", "int32", (-128, 128),
        "(x.astype(np.int32) ** 2).sum(1)",
    ),
    "extremes of long integers": (
        """\
    c = tl.arange(0, WHOLE)
    least = -9223372036854775808
    value = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=least)
    tl.store(y + tl.program_id(0), tl.max(value, axis=0))
""", "int64", "int64", (-5_000_000_000_000, -4_000_000_000_000), "x.max(1)",
    ),
    "extremes of bytes": (
        """\
    c = tl.arange(0, WHOLE)
    value = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=0).to(tl.int32)
    value = tl.where(c < cols, value * 3, -2147483648)
    tl.store(y + tl.program_id(0), tl.max(value, axis=0))
""", "int8", "int8", (-128, -3), "(x.astype(np.int32) * 3).max(1)",
    ),
    "hashes": (
        """\
    c = tl.arange(0, WHOLE)
    value = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value * 2654435761 >> 16, axis=0))
""", "uint32", "uint32", (0, 2_000_000_000), "x.sum(1)",
    ),
}  # fmt: skip


def _kernel(bench: TritonBench, name: str) -> LoadedKernel:
    body, of, to, (low, high), truth = BODIES[name]
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    data: dict[str, Any] = {
        "name": name.replace(" ", "_"),
        "kernel": {
            "kernel_type": "triton",
            "source_code": f"{head}def rows_of(x, y, cols, WHOLE: tl.constexpr):\n{body}",
            "metadata": {"kernel_name": "rows_of"},
            "launch": {"grid": ["rows"], "constexprs": {"WHOLE": "next_pow2(cols)"}},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": of, "shape": ["rows", "cols"],
                 "init": {"kind": "randint", "low": low, "high": high}},
                {"name": "y", "role": "output", "dtype": to, "shape": ["rows"]},
                {"name": "cols", "role": "scalar", "dtype": "int32", "value": "cols"},
            ]
        },
        "symbols": {"rows": {"min": 1, "max": 9}, "cols": {"min": 1, "max": 40}},
        "workloads": [{"name": "main", "symbols": {"rows": 9, "cols": 40}}],
        "reference": {"source_code": "import numpy as np\n\n\ndef reference(x, **_):\n"
                      f"    return {truth}\n"},
    }  # fmt: skip
    return load_data(data, bench.folder, Roots([bench.folder]))


@pytest.mark.parametrize("name", [n for n in BODIES if n != "hashes"])
def test_rows_of_integers_are_written_as_wide_as_they_were(bench: TritonBench, name: str) -> None:
    kernel = _kernel(bench, name)
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    (move,) = [each for each in MOVES if each.id == "row_blocks"]
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    bench.oracle.open(kernel)
    bench.must_pass(kernel, applied(start, found[0]))


def test_unsigned_integers_of_a_whole_word_are_not_written(bench: TritonBench) -> None:
    kernel = _kernel(bench, "hashes")
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    found = next(move for move in MOVES if move.id == "row_blocks").propose(start)
    assert isinstance(found, NotApplicable) and "unsigned integers" in found.reason
