"""Schedules of Triton for places of extremes, running maxima, scans, and sums added by atomic
updates: what is written computes what the kernel did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tiers import cases
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
Script = Callable[[str], Any]
BY_ID = {move.id: move for move in MOVES}
WRITES = {
    "greatest_and_its_place": ("row_blocks", "tl.min(tl.where("),
    "place_by_its_own_fold": ("row_blocks", "tl.min(tl.where("),
    "softmax_with_a_running_maximum": ("row_blocks", "tl.max("),
    "log_of_sums_by_lanes": ("row_blocks", "tl.max("),
    "running_sums_one_by_one": ("scan_blocks", "tl.cumsum("),
    "running_sums_in_blocks": ("scan_blocks", "tl.cumsum("),
    "columns_added_by_tiles": ("column_blocks", "tl.atomic_add("),
}


@cases(
    "name",
    WRITES,
    why="further kernels and moves, which `test_schedules` asks as well",
    kinds=lambda name: {WRITES[name][0]} & {"scan_blocks"},
)
def test_what_a_schedule_writes_computes_the_same(
    script: Script, bench: TritonBench, name: str
) -> None:
    plain = script("triton_more_kernels").OPEN[name]
    move, word = WRITES[name]
    texts = _right(bench, plain, move, dict.fromkeys(plain.symbols, 44))
    assert all(word in each for each in texts)


def test_rows_that_no_block_holds_carry_their_sums_from_block_to_block(
    script: Script, bench: TritonBench
) -> None:
    plain = script("triton_more_kernels").OPEN["running_sums_in_blocks"]
    long = replace(plain, symbols={"rows": 64, "cols": 1 << 20})
    texts = _right(bench, long, "scan_blocks", {"rows": 8, "cols": 20004})
    assert len(texts) == 2 and all("before += tl.sum(here, axis=0)" in each for each in texts)


def test_sums_that_began_with_something_are_left_alone(script: Script, bench: TritonBench) -> None:
    plain = script("triton_more_kernels").OPEN["running_sums_one_by_one"]
    begun = replace(plain, source=plain.source.replace("total = 0.0", "total = 1.0"))
    kernel = load_data(begun.spec("begun"), bench.folder, Roots([bench.folder]))
    found = BY_ID["scan_blocks"].propose(_start(kernel))
    assert isinstance(found, NotApplicable) and "begins with something" in found.reason


def _right(bench: TritonBench, plain: Any, move: str, few: dict[str, int]) -> list[str]:
    """What a move writes of a kernel; all of it is right with workloads of a quarter of `few`."""
    small = replace(plain, symbols=few)
    whole, tried = (
        load_data(each.spec("f"), bench.folder, Roots([bench.folder])) for each in (plain, small)
    )
    found = BY_ID[move].propose(_start(whole))
    assert not isinstance(found, NotApplicable), found.reason
    bench.oracle.open(tried)
    for each in found:
        bench.must_pass(tried, applied(_start(tried), each))
    return [each.source or "" for each in found]


def _start(kernel: LoadedKernel) -> State:
    return State("triton", kernel.spec.kernel.source_code or "", {}, BuildOptions(), kernel.spec)
