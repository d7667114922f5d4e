"""Kernels that return early, guard a running sum, have one column of several, or one launch of
several places: read and written as any other."""

from __future__ import annotations

from typing import Any

import pytest
from triton_bench import TritonBench
from triton_moves import applied

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.moves.shared.base import NotApplicable, State
from kernelwright.search.moves.triton.schedules import MOVES

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
EARLY = """\
def early_kernel(x, y, n, PART: tl.constexpr):
    first = tl.program_id(0) * PART
    if first >= n:
        return
    here = first + tl.arange(0, PART)
    tl.store(y + here, tl.load(x + here, mask=here < n) * 3.0, mask=here < n)


def early(x):
    y = torch.empty_like(x)
    early_kernel[(x.numel(),)](x, y, x.numel(), PART=32)
    return y
"""
GUARDED = """\
def guarded_kernel(x, y, rows, width, between, ROWS: tl.constexpr, PART: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.program_id(1)
    most = tl.full([ROWS, PART], float("-inf"), tl.float32)
    total = tl.zeros([ROWS, PART], tl.float32)
    for start in range(0, width, PART):
        c = start + tl.arange(0, PART)
        inside = (r[:, None] < rows) & (c[None, :] < width)
        at = (r[:, None] * width + c[None, :]) * between + k
        value = tl.load(x + at, mask=inside, other=float("-inf"))
        now = tl.maximum(most, value)
        empty = now == float("-inf")
        total = tl.where(empty, total, total * tl.exp(most - now) + tl.exp(value - now))
        most = now
    top = tl.max(most, axis=1)
    whole = tl.sum(total * tl.exp(most - top[:, None]), axis=1)
    for start in range(0, width, PART):
        c = start + tl.arange(0, PART)
        inside = (r[:, None] < rows) & (c[None, :] < width)
        at = (r[:, None] * width + c[None, :]) * between + k
        value = tl.load(x + at, mask=inside, other=0.0)
        tl.store(y + at, tl.exp(value - top[:, None]) / whole[:, None], mask=inside)


def guarded(x):
    rows, width = x.shape
    y = torch.empty_like(x)
    guarded_kernel[(triton.cdiv(rows, 4), 1)](x, y, rows, width, 1, ROWS=4, PART=32)
    return y
"""
ROW_SUM = """\
def total_kernel(x, y, n, PART: tl.constexpr):
    total = 0.0
    for start in range(0, n, PART):
        here = start + tl.arange(0, PART)
        total += tl.sum(tl.load(x + tl.program_id(0) * n + here, mask=here < n, other=0.0))
    tl.store(y + tl.program_id(0), total)


def total(x):
    y = torch.empty(x.shape[0], device=x.device)
    grid = (x.shape[0],)
    total_kernel[grid](x, y, x.shape[1], PART=16)
    return y


def total_out(x, y):
    total_kernel[(x.shape[0],)](x, y, x.shape[1], PART=16)
"""
CASES: dict[str, tuple[str, str, list[str], str]] = {
    "early": (EARLY, "elementwise_blocks", ["n"], "3 * x"),
    "guarded": (GUARDED, "row_blocks", ["n", "m"],
                "np.exp(x - x.max(1, keepdims=True)) "
                "/ np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)"),
    "total": (ROW_SUM, "row_blocks", ["n", "m"], "x.sum(1)"),
}  # fmt: skip


def _kernel(bench: TritonBench, name: str) -> LoadedKernel:
    source, _, shape, truth = CASES[name]
    arguments: list[dict[str, Any]] = [
        {"name": "x", "role": "input", "dtype": "float32", "shape": shape},
        {"name": "y", "role": "output", "dtype": "float32", "shape": shape},
    ]
    if name == "total":
        arguments[1]["shape"] = ["n"]
    data = {
        "name": name,
        "kernel": {"kernel_type": "triton", "source_code": HEAD + source,
                   "metadata": {"kernel_name": name}},
        "io": {"arguments": arguments},
        "symbols": {s: {"min": 1, "max": 100} for s in shape},
        "workloads": [{"name": "main", "symbols": dict.fromkeys(shape, 90)}],
        "reference": {"source_code": "import numpy as np\n\n\ndef reference(x):\n"
                      f"    return {truth}\n"},
    }  # fmt: skip
    return load_data(data, bench.folder, Roots([bench.folder]))


def _written(bench: TritonBench, name: str) -> tuple[LoadedKernel, State, Candidate]:
    kernel = _kernel(bench, name)
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    (move,) = [each for each in MOVES if each.id == CASES[name][1]]
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    return kernel, start, found[0]


@pytest.mark.parametrize("name", CASES)
def test_it_is_written_and_computes_the_same(bench: TritonBench, name: str) -> None:
    kernel, start, found = _written(bench, name)
    bench.oracle.open(kernel)
    bench.must_pass(kernel, applied(start, found))


def test_a_kernel_that_others_launch_too_stays_beside_what_is_written(bench: TritonBench) -> None:
    _, _, found = _written(bench, "total")
    before, _, after = (found.source or "").partition("def total_kernel_of_total(")
    assert "def total_kernel(x, y, n, PART: tl.constexpr):" in before
    assert "total_kernel_of_total[" in after and "total_kernel[(x.shape[0],)]" in after
