"""Fixtures of tests in several folders; those of one folder lie in its own `conftest.py`."""

from __future__ import annotations

import gc
import importlib
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asking import Keeping
from brief_timing import BRIEF
from hypothesis import settings
from kernels import PEAKS
from shared_folders import of_all_workers
from shared_zygotes import OWN_ANSWER, SharedZygotes

from kernelwright.evaluation.rig.open_kernel import TIMING
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import VARIABLE
from kernelwright.runners.limits import limits
from kernelwright.runners.limits.limits import Peaks
from kernelwright.search.session.workbench import Workbench

if TYPE_CHECKING:
    from cuda_moves import PretendedLab
    from pretend_program import PretendedProgram

ROOT = Path(__file__).parents[1]

# How long an example takes is what else the machine does.
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where nothing but what runs alone is asked for, files without such a test are not loaded: all
    of them take half a minute."""
    if config.option.markexpr != "alone" or collection_path.suffix != ".py":
        return None
    return "mark.alone" not in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_finish() -> None:
    """What was collected, some hundred thousand objects, is not looked through again each time that
    Python looks for garbage, and forks share it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def shared_twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a pretended GPU runs in place of machine code is compiled once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRETEND_GPU_TWINS", of_all_workers(tmp_path_factory, "pretended_twins"))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_brokers() -> Iterator[None]:
    """Servers work in their own process, where a test does not ask for a broker: it would outlive
    the test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_BROKER", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def known_peaks() -> Iterator[None]:
    """No state folder of this process has its machine measured, 5 s of a core: tests of that have
    imported how before."""

    def known(_: Path) -> Peaks:
        return PEAKS

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "measure_host", known)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_zygotes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedZygotes]:
    """All builders of this process have their builds forked by the same processes."""
    zygotes = SharedZygotes(tmp_path_factory.mktemp("zygotes"))

    def answer(_: Builder, *asked: Any) -> str:
        return zygotes.answer(*asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Builder, "_answer", answer)
        yield zygotes
    zygotes.close()


@pytest.fixture(scope="module")
def own_zygotes(shared_zygotes: SharedZygotes, own_builds: None) -> Iterator[None]:
    """For tests of what becomes of such a process: each builder starts its own, no other is there,
    and nothing is found that others built."""
    shared_zygotes.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Builder, "_answer", OWN_ANSWER)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one test has built is found by all others, of all processes of a run: their folders are
    new each time, their kernels mostly are not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, of_all_workers(tmp_path_factory, "compile_cache"))
        yield


@pytest.fixture(scope="module")
def own_builds(shared_builds: None) -> Iterator[None]:
    """For tests whose subject is building: nothing is built that was not asked for in their own
    folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE)
        yield


@pytest.fixture(scope="module")
def brief_timing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of this module time host kernels briefly, unless real times are what they are about."""
    with pytest.MonkeyPatch.context() as patch:
        if "alone" not in request.keywords:
            patch.setitem(TIMING, "native", BRIEF)
        yield


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A workbench on a folder of its own, `bench.outdir.parent`."""
    folder = tmp_path_factory.mktemp("bench")
    with Workbench(folder / "out", [folder]) as opened:
        yield opened


@pytest.fixture(scope="module")
def bench_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A workbench that may read the examples."""
    with Workbench(tmp_path_factory.mktemp("examples") / "out", [ROOT / "examples"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """A builder with a folder of its own."""
    folder = tmp_path_factory.mktemp("builds")
    made = Builder(folder / "modules", folder / "scratch")
    yield made
    made.close()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a benchmark by its name, as it is when it is run from its folder."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that stores open from now on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    return opened


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendedProgram]:
    """A program on a pretended driver, for what records, replays and changes programs."""
    from pretend_program import pretended_program  # most tests do without

    folder = Path(of_all_workers(tmp_path_factory, "pretended_program"))
    with pretended_program(folder) as made:
        yield made


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendedLab]:
    """A pretended GPU and a runner on it, for states of CUDA sources."""
    from cuda_moves import PretendedLab  # most tests do without
    from pretend_gpu import pretended_gpu

    folder = tmp_path_factory.mktemp("gpu")
    with pretended_gpu(folder) as gpu:
        opened = PretendedLab(gpu, folder / "runs")
        yield opened
        opened.close()


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    """A store of its own, and the calls that are kept in it."""
    kept = Keeping(tmp_path)
    yield kept
    kept.store.close()
