"""Few long columns in Triton: several programs share them, and a second launch joins the shares."""

from __future__ import annotations

from typing import Any

import pytest
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import applied

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.shared.base import NotApplicable, State
from kernelwright.search.moves.triton.schedules.column_blocks import MOVE

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
SUMMED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def fold(x_ptr, y_ptr, rows, cols, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32) + 1.5
    low = tl.full((B,), float("inf"), tl.float32)
    for r in range(rows):
        v = tl.load(x_ptr + r * cols + c, mask=c < cols, other=0.0)
        total += v * v
        low = tl.minimum(low, v)
    tl.store(y_ptr + c, total / rows - low, mask=c < cols)


def parts(x, rows, cols):
    y = torch.empty(cols, device=x.device, dtype=x.dtype)
    LAUNCH
    return y
"""
STATEMENT = "fold[(triton.cdiv(cols, 16),)](x, y, rows, cols, B=16)"
TRUTH = """\
def reference(x, rows, cols):
    x = x.reshape(rows, cols)
    return ((x * x).sum(axis=0) + 1.5) / rows - x.min(axis=0)
"""
LEAST_ROWS = 2 * 512 + 76
"""two whole shares and a part of one"""


def _spec(launch: str, rows: int, cols: int) -> dict[str, Any]:
    return {
        "name": "f",
        "kernel": {
            "kernel_type": "triton",
            "source_code": SUMMED.replace("LAUNCH", launch),
            "metadata": {"kernel_name": "parts"},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows * cols"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["cols"]},
                {"name": "rows", "role": "scalar", "dtype": "int32", "value": "rows"},
                {"name": "cols", "role": "scalar", "dtype": "int32", "value": "cols"},
            ]
        },
        "symbols": {
            "rows": {"min": min(rows, LEAST_ROWS), "max": 1 << 18},
            "cols": {"min": 1, "max": 1 << 16},
        },
        "workloads": [{"name": "main", "symbols": {"rows": rows, "cols": cols}}],
        "reference": {"source_code": TRUTH},
    }


def _loaded(bench: TritonBench, launch: str, rows: int, cols: int) -> LoadedKernel:
    return load_data(_spec(launch, rows, cols), bench.folder, Roots([bench.folder]))


def _shared(kernel: LoadedKernel) -> tuple[State, list[Candidate]]:
    source = kernel.spec.kernel.source_code or ""
    start = State("triton", source, {}, BuildOptions(), kernel.spec)
    found = MOVE.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    return start, [each for each in found if "a second launch" in each.detail]


def test_shares_of_few_long_columns_are_joined_in_a_second_launch(bench: TritonBench) -> None:
    start, (found,) = _shared(_loaded(bench, STATEMENT, 1 << 18, 64))
    made = applied(start, found)
    small = _loaded(bench, STATEMENT, LEAST_ROWS, 45)
    bench.oracle.open(small)
    bench.must_pass(small, made)
    (work,) = small.spec.workloads
    outcome = bench.builder.build(
        BuildRequest(
            kernel=small,
            variant=variant(small, made),
            shapes=(Shape(label=work.name, symbols=work.symbols),),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, f"{outcome.message}\n{found.source}"


@pytest.mark.parametrize(
    ("launch", "rows", "cols"),
    [
        (STATEMENT, 1 << 18, 1 << 16),
        (STATEMENT, 256, 64),
        (f"done = {STATEMENT}", 1 << 18, 64),
    ],
    ids=["many columns", "few rows", "a launch that is no statement"],
)
def test_one_launch_stays_where_two_gain_nothing_or_have_no_place(
    bench: TritonBench, launch: str, rows: int, cols: int
) -> None:
    _, found = _shared(_loaded(bench, launch, rows, cols))
    assert not found
