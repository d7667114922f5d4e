"""A baseline that is only inexact is refused with the line of the spec that lets it through."""

from __future__ import annotations

import math
import re
from typing import Any

import lift
import pytest

from kernelwright.evaluation.way_out import state_kept, tolerance_offered
from kernelwright.runners.errors import BaselineRefused
from kernelwright.runners.gates.runs import NOT_ON_PUBLIC, Run
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.protocol.messages import RunResult
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


def verdict(largest: float, right: bool = False) -> OutputVerdict:
    return OutputVerdict(
        name="y",
        right=right,
        largest=largest,
        allowed=1e-5,
        rms=largest,
        worst_index=None,
        worst_value="",
        expected_value="",
        message="wrong",
    )


def run(*verdicts: OutputVerdict, fault: str = "") -> Run:
    result = RunResult(slot=0, poison=0, fault=fault, fault_kind="crashed" if fault else "")
    return Run("w", False, result, verdicts)


def test_rounding_that_secret_seeds_alone_show_is_offered_its_tolerance_too(
    kernel: LoadedKernel,
) -> None:
    """A long sum is within what is allowed on some values and not on others."""
    runs = [run(verdict(4e-6, right=True)), run(verdict(3.1e-5)), run(verdict(2e-5))]
    told = tolerance_offered(kernel.spec, runs)
    assert '"tolerance": {"floor": 7e-05}' in told, "one digit, with room"


@pytest.mark.parametrize(
    "runs",
    [
        [run(verdict(3e-5)), run(verdict(0.3))],
        [run(verdict(3e-5)), run(verdict(math.inf))],
        [run(verdict(3e-5)), run(fault="killed by SIGSEGV")],
        [run(verdict(3e-6, right=True))],
    ],
    ids=["one is wrong by far", "one is no number", "one crashed", "none is wrong"],
)
def test_a_tolerance_is_offered_where_it_would_take_all_that_was_wrong(
    kernel: LoadedKernel, runs: list[Run]
) -> None:
    assert tolerance_offered(kernel.spec, runs) == ""
