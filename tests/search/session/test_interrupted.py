"""Ctrl-C in the middle of a sweep, on a GPU that is not there: nothing is lost or left behind."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpu_lift
import psutil
import pytest
from kernels import with_known_peaks
from pretend_gpu import pretended_gpu
from tiers import further

from kernelwright.runners.building import plain_compiler
from kernelwright.runners.model import Ending
from kernelwright.runners.progress import Listener, listening
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.optimize import Began, Failed, Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.store.store import JsonObject

pytestmark = [
    pytest.mark.usefixtures("own_zygotes"),
    pytest.mark.skipif(
        "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
    ),
]
BUDGET = 5
SETTINGS = Settings(budget_builds=BUDGET, sweep_builds=BUDGET, min_gain=1e9, stop_at_headroom=False)
"""One sweep spends all of it. No gain makes an incumbent: what such a one goes through is told
elsewhere."""


def children() -> set[psutil.Process]:
    """All beneath this process but one that it keeps until it ends, whoever asks first for it."""
    return {p for p in psutil.Process().children(recursive=True) if not _is_kept(p)}


def _is_kept(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it has just ended
        return plain_compiler.__name__ in process.cmdline()
    return False


@dataclass
class Ears(Listener):
    """What is said of configurations; SIGINT once as many were told."""

    interrupt_after: int | None = None
    told: list[str] = field(default_factory=list[str])
    working: list[psutil.Process] = field(default_factory=list[psutil.Process])
    """processes that this sweep had beneath this one when the signal came"""
    before: set[psutil.Process] = field(default_factory=children)

    def report(self, message: str) -> None:
        pass

    def found(self, message: str) -> None:
        if message.startswith("configuration "):
            self.told.append(message.partition(": ")[2].partition(": ")[0])
            if len(self.told) == self.interrupt_after:
                self.working = list(children() - self.before)
                signal.raise_signal(signal.SIGINT)


def tunable(folder: Path) -> Path:
    """The spec of a kernel with two parameters that are worth tuning together."""
    launch = {"grid": ["cdiv(n, BLOCK)"], "block": ["BLOCK"]}
    changes: dict[str, Any] = {
        "kernel": gpu_lift.spec()["kernel"] | {"launch": launch},
        "workloads": [{"name": "usual", "symbols": {"n": 600}}],
        "parameters": {
            "REPEAT": {"values": [64, 32, 16, 8]},
            "BLOCK": {"values": [128, 64, 32]},
        },
    }
    path = folder / "lift.json"
    path.write_text(json.dumps(gpu_lift.spec(**changes)), encoding="utf-8")
    return path


def evaluations(bench: Workbench) -> dict[str, JsonObject]:
    """Those in the store, by variant and number."""
    return dict(bench.store.items("evaluations"))


@dataclass(frozen=True)
class Interrupted:
    spec: Path
    outdir: Path
    told: list[str]
    kept: dict[str, JsonObject]
    """evaluations in the store when the search had ended"""
    working: list[psutil.Process]


@contextmanager
def ctrl_c_heard() -> Generator[None]:
    """SIGINT as a terminal gives it: a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interrupted]:
    """A sweep of five configurations that Ctrl-C met when the second was told."""
    folder = tmp_path_factory.mktemp("interrupted")
    spec, outdir = tunable(folder), with_known_peaks(folder / "out")
    with pretended_gpu(folder), ctrl_c_heard():
        ears = Ears(interrupt_after=2)
        with Workbench(outdir, [folder]) as bench:
            with pytest.raises(KeyboardInterrupt), listening(ears):
                list(optimize(bench, [spec], SETTINGS))
            kept = evaluations(bench)
        yield Interrupted(spec, outdir, ears.told, kept, ears.working)


@further(
    "tests/server/test_kills.py::test_a_search_that_a_signal_meets_in_the_middle_of_a",
    why="a signal in the middle of a sweep",
)
def test_ctrl_c_in_a_sweep_leaves_no_process_behind(interrupted: Interrupted) -> None:
    assert interrupted.working
    # one that was killed while it waits for a disk ends when the disk has answered
    _, left = psutil.wait_procs(interrupted.working, timeout=20)
    assert not [each for each in left if each.status() != psutil.STATUS_ZOMBIE]


def test_what_a_sweep_had_told_is_in_the_store(interrupted: Interrupted) -> None:
    assert len(interrupted.told) == 2
    assert len(interrupted.kept) >= 3, "the baseline and they"


def test_a_sweep_goes_on_behind_what_it_had_evaluated(interrupted: Interrupted) -> None:
    ears = Ears()
    with Workbench(interrupted.outdir, [interrupted.spec.parent]) as bench:
        assert evaluations(bench) == interrupted.kept
        with listening(ears):
            events = list(optimize(bench, [interrupted.spec], SETTINGS, resume=True))
        found = evaluations(bench)
    assert not [event for event in events if isinstance(event, Failed)]
    (began,) = (event for event in events if isinstance(event, Began))
    (finished,) = (event for event in events if isinstance(event, Finished))
    assert began.resumed and ears.told
    assert finished.status.builds <= BUDGET
    assert {key: found[key] for key in interrupted.kept} == interrupted.kept
    final = [key for key, each in interrupted.kept.items() if Ending(each["ending"]).final]
    again = {key.partition("/")[0] for key in found.keys() - interrupted.kept.keys()}
    assert final and not again & {key.partition("/")[0] for key in final}, "none is measured twice"
