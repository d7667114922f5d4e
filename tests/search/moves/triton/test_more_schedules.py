"""Schedules of Triton for places of extremes, running maxima, scans, and sums added by atomic
updates: what is written computes what the kernel did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from triton_bench import TritonBench

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import Roots, load_data
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
    "softmax_with_a_running_maximum": ("row_blocks", "tl.max("),
    "log_of_sums_by_lanes": ("row_blocks", "tl.max("),
    "columns_added_by_tiles": ("column_blocks", "tl.atomic_add("),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_a_schedule_writes_computes_the_same(
    script: Script, bench: TritonBench, name: str
) -> None:
    plain = script("triton_more_kernels").OPEN[name]
    small = replace(plain, symbols=dict.fromkeys(plain.symbols, 44))
    whole, few = (
        load_data(each.spec(name), bench.folder, Roots([bench.folder])) for each in (plain, small)
    )
    start = State("triton", whole.spec.kernel.source_code or "", {}, BuildOptions(), whole.spec)
    move, word = WRITES[name]
    found = BY_ID[move].propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    bench.oracle.open(few)
    for each in found:
        assert each.source is not None and word in each.source
        bench.must_pass(few, replace(start, source=each.source, spec=few.spec))
