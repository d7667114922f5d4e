"""Programs that take one tile after the other are read as one program a tile."""

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
PRODUCT = """\
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, k, SIDE: tl.constexpr, WORKERS: tl.constexpr):
    across = tl.cdiv(n, SIDE)
    for tile in range(tl.program_id(0), tl.cdiv(m, SIDE) * across, WORKERS):
        r = tile // across * SIDE + tl.arange(0, SIDE)[:, None]
        s = tile % across * SIDE + tl.arange(0, SIDE)[None, :]
        total = tl.zeros((SIDE, SIDE), dtype=tl.float32)
        for start in range(0, k, SIDE):
            x, y = start + tl.arange(0, SIDE)[None, :], start + tl.arange(0, SIDE)[:, None]
            one = tl.load(a + r * k + x, mask=(r < m) & (x < k), other=0.0)
            other = tl.load(b + y * n + s, mask=(y < k) & (s < n), other=0.0)
            total += tl.dot(one, other, allow_tf32=False)
        tl.store(c + r * n + s, total, mask=(r < m) & (s < n))
"""


def _kernel(bench: TritonBench, programs: str) -> LoadedKernel:
    arrays: list[dict[str, Any]] = [
        {"name": name, "role": role, "dtype": "float32", "shape": shape}
        for name, role, shape in (
            ("a", "input", ["m", "k"]),
            ("b", "input", ["k", "n"]),
            ("c", "output", ["m", "n"]),
        )
    ]
    sizes = [{"name": n, "role": "scalar", "dtype": "int32", "value": n} for n in "mnk"]
    data = {
        "name": "product",
        "kernel": {
            "kernel_type": "triton",
            "source_code": PRODUCT,
            "metadata": {"kernel_name": "product"},
            "launch": {"grid": [programs], "constexprs": {"SIDE": 16, "WORKERS": 8}},
        },
        "io": {"arguments": [*arrays, *sizes]},
        "symbols": {n: {"min": 1, "max": 1024} for n in "mnk"},
        "workloads": [{"name": "main", "symbols": {"m": 512, "n": 256, "k": 128}}],
        "reference": {"source_code": "def reference(a, b, **_):\n    return a @ b\n"},
    }
    return load_data(data, bench.folder, Roots([bench.folder]))


def test_a_product_whose_programs_take_tiles_in_turn_is_written_anew(bench: TritonBench) -> None:
    kernel = _kernel(bench, "min(8, cdiv(m, 16) * cdiv(n, 16))")
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    (move,) = [each for each in MOVES if each.id == "dot_blocks"]
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    bench.oracle.open(kernel)
    bench.must_pass(kernel, applied(start, found[0]))


def test_programs_that_leave_tiles_out_are_not_read_as_taking_all(bench: TritonBench) -> None:
    kernel = _kernel(bench, "4")
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    assert all(isinstance(move.propose(start), NotApplicable) for move in MOVES)
