"""Searches that a scripted model answers; all begin with one baseline, opened once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from kernels import tiny_kernel, with_known_peaks
from messages_api import Step, messages_api
from model_searches import Ran, Run

from kernelwright.runners.loading.files import load_path
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.session.exchanges import calls_of, costs_of
from kernelwright.search.session.optimize import Began, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.server.planning.answering import Answerer


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny kernel and, in `out`, the state of its baseline."""
    folder = tmp_path_factory.mktemp("opened")
    tiny_kernel(folder)
    with Workbench(with_known_peaks(folder / "out"), [folder]) as bench:
        bench.evaluator.open(load_path(folder / "spec.json", bench.roots))
    return folder


@pytest.fixture
def begun(opened: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(opened, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(begun: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Optimizes the tiny kernel with a scripted model, each time in the same state folder."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-nobody")

    def optimized(*script: Step, resume: bool = False, **changes: Any) -> Ran:
        settings = Settings(budget_builds=8, repair_visits=2, min_pred_gain=0)
        with messages_api(*script) as server, Workbench(begun / "out", [begun]) as bench:
            planning = PlannerSettings.model_validate({"base_url": server.url, **changes})
            answering = Answerer(bench, "anthropic", planning)
            specs = [begun / "spec.json"]
            events = list(optimize(bench, specs, settings, resume=resume, answering=answering))
            (search,) = (each.search for each in events if isinstance(each, Began))
            kept = calls_of(bench.store, search.search_id), costs_of(bench.store, search.search_id)
        return Ran(events, server.asked, *kept)

    return optimized
