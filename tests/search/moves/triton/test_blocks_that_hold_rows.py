"""Kernels whose block is as long as a row, rounded up: what is written has every row's length."""

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
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
NORM = """\
def norm_kernel(x, r, both, y, scale, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0).to(tl.int64), tl.arange(0, WHOLE)
    inside = c < width
    s = tl.load(x + row * width + c, mask=inside, other=0.0)
    s += tl.load(r + row * width + c, mask=inside, other=0.0)
    tl.store(both + row * width + c, s, mask=inside)
    size = tl.rsqrt(tl.sum(s * s, axis=0) / width + 0.01)
    tl.store(scale + row, size)
    tl.store(y + row * width + c, s * size, mask=inside)
"""
GATE = """\
def gate_kernel(a, b, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    a += row * width
    b += row * width
    inside = c < width
    one = tl.load(a + c, mask=inside, other=0.0)
    other = tl.load(b + c, mask=inside, other=0.0)
    tl.store(a + c, one * tl.sigmoid(other), mask=inside)
    tl.store(b + c, other * one, mask=inside)
"""
SHARED = """\
def first_kernel(x, y, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    values = tl.load(x + row * width + c, mask=c < width, other=0.0)
    tl.store(y + row * width + c, values + WHOLE, mask=c < width)
"""
RANGE = """\
def range_kernel(x, y, peak, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    values = tl.load(x + row * width + c, mask=c < width, other=0.0)
    most = tl.maximum(tl.max(tl.abs(values)), 1e-6)
    tl.store(peak + row, most / 127)
    tl.store(y + row * width + c, values * (127 / most), mask=c < width)
"""
ONLINE = """\
def online_kernel(x, y, width, WHOLE: tl.constexpr):
    row = tl.program_id(0)
    most = tl.full((WHOLE,), float("-inf"), tl.float32)
    sums = tl.zeros((WHOLE,), tl.float32)
    for at in range(0, width, WHOLE):
        c = at + tl.arange(0, WHOLE)
        values = tl.load(x + row * width + c, mask=c < width, other=float("-inf"))
        now = tl.maximum(most, values)
        grown = sums * tl.exp(most - now) + tl.exp(values - now)
        sums = tl.where(now == float("-inf"), sums, grown)
        most = now
    top = tl.max(most, axis=0)
    sums = tl.sum(sums * tl.exp(most - top), axis=0)
    for at in range(0, width, WHOLE):
        c = at + tl.arange(0, WHOLE)
        values = tl.load(x + row * width + c, mask=c < width)
        tl.store(y + row * width + c, tl.exp(values - top) / sums, mask=c < width)
"""
LOSS = """\
def loss_kernel(x, y, width, WHOLE: tl.constexpr):
    row, most, total = tl.program_id(0), float("-inf"), 0.0
    for at in range(0, width, WHOLE):
        c = at + tl.arange(0, WHOLE)
        values = tl.load(x + row * width + c, mask=c < width, other=float("-inf"))
        now = tl.maximum(most, tl.max(values))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(values - now))
        most = now
    tl.store(y + row, most + tl.log(total))
"""
PICKED = """\
def picked_kernel(x, chosen, y, width, WHOLE: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, WHOLE)
    inside = tl.arange(0, WHOLE) < width
    given = tl.load(chosen + at, mask=inside, other=0.0) > 0
    values = tl.load(x + at, mask=(not given) and inside, other=0.0)
    tl.store(y + at, values, (not given) and inside)
    tl.store(y + at, -1.0, given and inside)
"""
CAUSAL = """\
def causal_kernel(x, y, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    values = tl.load(x + row * width + c, mask=c <= row, other=float("-inf")) * 0.5
    powers = tl.exp(values - tl.max(values, axis=0))
    shares = tl.where(c <= row, powers / tl.sum(powers, axis=0), 0.0)
    tl.store(y + row * width + c, shares, mask=c < width)
"""
ADDED = """\
def added_kernel(a, b, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    a += row * width
    b += row * width
    total = tl.load(a + c, mask=c < width, other=0.0)
    total += tl.load(b + c, mask=c < width, other=0.0)
    tl.store(b + c, total, mask=c < width)
    size = tl.rsqrt(tl.sum(total * total / width, axis=0) + 0.01)
    tl.store(a + c, total * size, mask=c < width)
"""
KEPT = """\
def kept_kernel(x, y, peak, width, WHOLE: tl.constexpr):
    row, sums = tl.program_id(0), tl.zeros((WHOLE,), tl.float32)
    for at in range(0, width, WHOLE):
        c = at + tl.arange(0, WHOLE)
        sums += tl.load(x + row * width + c, mask=c < width, other=0.0)
    mean = tl.sum(sums, axis=0) / width
    tl.store(peak + row, mean)
    for at in range(0, width, WHOLE):
        c = at + tl.arange(0, WHOLE)
        values = tl.load(x + row * width + c, mask=c < width, other=0.0)
        tl.store(y + row * width + c, values - mean, mask=c < width)
"""
TURNED = """\
def turned_kernel(a, width, WHOLE: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, WHOLE)
    a += row * width
    values = tl.load(a + width - 1 - c, mask=c < width, other=0.0)
    tl.store(a + c, values - tl.sum(values, axis=0), mask=c < width)
"""
SOFTMAX = "np.exp(x - x.max(1)[:, None])"
TRUTHS = {
    "range": "peak = np.abs(x).max(1) / 127\n    return x / peak[:, None], peak",
    "online": f"return {SOFTMAX} / {SOFTMAX}.sum(1)[:, None]",
    "loss": "return np.log(np.exp(x).sum(1))",
    "causal": "e = np.tril(np.exp(x / 2))\n    return e / e.sum(1)[:, None]",
    "added": "s = a + b\n    return s / np.sqrt((s * s).mean(1) + 0.01)[:, None], s",
    "kept": "mean = x.mean(1)\n    return x - mean[:, None], mean",
    "turned": "return a[:, ::-1] - a.sum(1)[:, None]",
    "picked": "return np.where(chosen > 0, -1.0, x)",
    "norm": "both = x + r\n    scale = 1 / np.sqrt((both * both).mean(1) + 0.01)\n"
    "    return both, both * scale[:, None], scale",
    "gate": "return a / (1 + np.exp(-b)), a * b",
    "first": "return x + 2 ** np.ceil(np.log2(x.shape[1]))",
}
ARRAYS = {
    "norm": (
        NORM,
        {"x": "input", "r": "input", "both": "output", "y": "output", "scale": "output"},
    ),
    "gate": (GATE, {"a": "inout", "b": "inout"}),
    "first": (SHARED, {"x": "input", "y": "output"}),
    "range": (RANGE, {"x": "input", "y": "output", "peak": "output"}),
    "online": (ONLINE, {"x": "input", "y": "output"}),
    "causal": (CAUSAL, {"x": "input", "y": "output"}),
    "added": (ADDED, {"a": "inout", "b": "inout"}),
    "kept": (KEPT, {"x": "input", "y": "output", "peak": "output"}),
    "turned": (TURNED, {"a": "inout"}),
    "loss": (LOSS, {"x": "input", "y": "output"}),
    "picked": (PICKED, {"x": "input", "chosen": "input", "y": "output"}),
}
CAPPED = ("online", "loss", "kept")
"""whose blocks hold a row where it is short"""
A_ROW = ("scale", "peak")


def _kernel(bench: TritonBench, name: str) -> LoadedKernel:
    source, roles = ARRAYS[name]
    rows = "width" if name == "causal" else "rows"
    of_rows = {*A_ROW, "y"} if name == "loss" else {*A_ROW}
    arguments: list[dict[str, Any]] = [
        {"name": n, "role": role, "dtype": "float32",
         "shape": [rows] if n in of_rows else [rows, "width"]}
        for n, role in roles.items()
    ]  # fmt: skip
    given = ", ".join(n for n, role in roles.items() if role != "output")
    block = "min(next_pow2(width), 256)" if name in CAPPED else "next_pow2(width)"
    size = {"name": "width", "role": "scalar", "dtype": "int32", "value": "width"}
    data = {
        "name": name,
        "kernel": {
            "kernel_type": "triton",
            "source_code": HEAD + source,
            "metadata": {"kernel_name": f"{name}_kernel"},
            "launch": {"grid": [rows], "constexprs": {"WHOLE": block}},
        },
        "io": {"arguments": [*arguments, size]},
        "symbols": {"rows": {"min": 1, "max": 12}, "width": {"min": 90, "max": 3000}},
        "workloads": [{"name": "main", "symbols": {"rows": 12, "width": 1500}}],
        "reference": {
            "source_code": f"import numpy as np\n\n\ndef reference({given}, **_):\n"
            f"    {TRUTHS[name]}\n"
        },
    }
    return load_data(data, bench.folder, Roots([bench.folder]))


@pytest.mark.parametrize(("name", "schedule"), [
    ("norm", "row_blocks"), ("gate", "elementwise_blocks"), ("range", "row_blocks"),
    ("online", "row_blocks"), ("loss", "row_blocks"), ("causal", "row_blocks"),
    ("added", "row_blocks"), ("kept", "row_blocks"), ("picked", "elementwise_blocks"),
])  # fmt: skip
def test_a_row_is_written_as_long_as_it_is(bench: TritonBench, name: str, schedule: str) -> None:
    kernel = _kernel(bench, name)
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    (move,) = [each for each in MOVES if each.id == schedule]
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    bench.oracle.open(kernel)
    for each in found:
        assert " < width" in (each.source or "")
        bench.must_pass(kernel, applied(start, each))


def test_what_is_computed_of_such_a_block_itself_is_not_written(bench: TritonBench) -> None:
    kernel = _kernel(bench, "first")
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    why = "what it computes hangs on WHOLE, which differs from shape to shape"
    assert {move.propose(start) for move in MOVES} == {NotApplicable(why)}


def test_a_row_that_changes_places_within_itself_is_not_written(bench: TritonBench) -> None:
    kernel = _kernel(bench, "turned")
    start = State("triton", kernel.source, {}, BuildOptions(), kernel.spec)
    told = {str(move.propose(start)) for move in MOVES}
    assert all("is read at another place than it is stored" in each for each in told)
