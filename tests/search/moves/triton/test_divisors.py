"""What divides sizes is told to the compiler: wider loads where rows are even, the same results."""

from __future__ import annotations

import re

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import applied, loaded, proposals, reason, sized, state

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.shared.base import State

runs = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
MOVE = "divisors_of_sizes"


def widest(bench: TritonBench, name: str, found: State, **symbols: int) -> int:
    """Elements of the widest load of global memory in what is built for a shape."""
    kernel = loaded(name, bench.folder)
    shape = Shape(label="w", symbols={**kernel.spec.workloads[0].symbols, **symbols})
    outcome = bench.builder.build(
        BuildRequest(kernel=kernel, variant=variant(kernel, found), shapes=(shape,), device=DEVICE)
    )
    assert outcome.artifact is not None, outcome.message
    names = [m.sha256 for m in outcome.artifact.modules if m.kind == "ptx"]
    text = "".join((bench.folder / "modules" / f"{n}.ptx").read_text("utf-8") for n in names)
    return max(int(v or 1) for v in re.findall(r"ld\.global(?:\.\w+)*?(?:\.v(\d))?\.b32", text))


def test_each_size_is_a_multiple_that_its_launch_knows() -> None:
    start = sized("softmax_triton", cols=1000)
    (found,) = proposals(MOVE, start)
    assert found.source is not None
    assert '@triton.heuristics({"COLS_DIVISOR": lambda args: min(16, args["cols"] &' in found.source
    assert "cols = cols // COLS_DIVISOR * COLS_DIVISOR" in found.source
    assert "is told already" in reason(MOVE, applied(start, found))


def test_strides_of_pointers_that_a_loop_moves_are_told_too() -> None:
    (found,) = proposals(MOVE, sized("tutorial", M=1000, N=1000, K=1000))
    assert "stride_am" in found.detail and "K" in found.detail
    assert "a_ptr," not in found.detail


@pytest.mark.parametrize("size", [999, 4096])
def test_sizes_that_gain_nothing_are_said(size: int) -> None:
    assert "which Triton sees by itself" in reason(MOVE, sized("softmax_triton", cols=size))


@runs
@pytest.mark.parametrize(("cols", "elements"), [(1000, 4), (1002, 2), (999, 1)])
def test_loads_are_as_wide_as_the_rows_allow(bench: TritonBench, cols: int, elements: int) -> None:
    start = sized("softmax_triton", cols=1000)
    (found,) = proposals(MOVE, start)
    assert widest(bench, "softmax_triton", start, cols=cols) == 1
    assert widest(bench, "softmax_triton", applied(start, found), cols=cols) == elements


@runs
@cases(
    "name",
    ["softmax_triton", "tutorial"],
    why="a further kernel of the move",
)
def test_the_results_are_the_same(bench: TritonBench, name: str) -> None:
    start = sized(name, **{s: 1000 for s in state(name).spec.symbols})
    kernel = loaded(name, bench.folder, **({"rows": 19} if name == "softmax_triton" else {}))
    (found,) = proposals(MOVE, start)
    bench.oracle.open(kernel)
    bench.must_pass(kernel, applied(start, found))
