"""Headless runs: when they stop, and what they end with."""

from __future__ import annotations

from pathlib import Path

from lift import write_spec

from kernelwright.search.session.optimize import Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import StepReport


def test_a_search_out_of_time_stops_and_its_winner_is_confirmed(tmp_path: Path) -> None:
    spec = write_spec(tmp_path)
    settings = Settings(budget_builds=9, budget_seconds=1e-9)
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        events = list(optimize(bench, [spec], settings))
    assert not any(isinstance(event, StepReport) for event in events)
    (finished,) = (event for event in events if isinstance(event, Finished))
    assert finished.status.stopped == "budget"
    assert finished.confirmation is None  # nothing was tried
