"""A baseline that is only inexact is refused with the line of the spec that lets it through."""

from __future__ import annotations

import re
from typing import Any

import lift
import pytest

from kernelwright.evaluation.way_out import state_kept
from kernelwright.runners.errors import BaselineRefused
from kernelwright.runners.gates.runs import NOT_ON_PUBLIC
from kernelwright.search.session.workbench import Workbench


def inexact(share: str, **tolerance: float) -> dict[str, Any]:
    """`lift` with outputs that are off by a share of themselves, as rounding in a long sum is."""
    data = lift.spec()
    source = lift.SOURCE.replace("2.0f * kept + 1.0f", f"{share} * (2.0f * kept + 1.0f)")
    data["kernel"]["source_code"] = source
    if tolerance:
        data["io"]["arguments"][1]["tolerance"] = tolerance
    return {"kernel": data["kernel"], "io": data["io"]}


def test_an_inexact_baseline_is_offered_the_tolerance_that_takes_it(bench: Workbench) -> None:
    folder = bench.outdir.parent
    with pytest.raises(BaselineRefused) as refused:
        bench.evaluator.open(lift.load(folder, **inexact("1.0003f")))
    offered = re.search(
        r'io.arguments.y: "tolerance": \{"floor": ([0-9.e-]+)\}', str(refused.value)
    )
    assert offered is not None, str(refused.value)
    assert "count as right, of the baseline and of every variant" in str(refused.value)
    taken = lift.load(folder, **inexact("1.0003f", floor=float(offered[1])))
    assert bench.evaluator.open(taken).timed


def test_what_is_wrong_beyond_rounding_is_offered_none(bench: Workbench) -> None:
    with pytest.raises(BaselineRefused) as refused:
        bench.evaluator.open(lift.load(bench.outdir.parent, **inexact("1.5f")))
    assert "tolerance" not in str(refused.value)


def test_what_fails_on_some_calls_alone_is_told_of_state_that_is_kept() -> None:
    assert "a static or global variable" in state_kept(f"`y` is wrong ({NOT_ON_PUBLIC})")
    assert state_kept("`y` is wrong at [3]") == ""
