"""A search that profiles its incumbent, on a pretended GPU with a stand-in for ncu."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import gpu_lift
import pytest
from kernels import tiny_kernel, with_known_peaks
from pretend_gpu import pretended_gpu
from profiles import stand_in_ncu

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.profiling import running
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.profiling import is_due
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchProfile, SearchRecord, StepReport
from kernelwright.server.live import lines_of
from kernelwright.tools.inspect import InspectArguments, inspect_handle

needs_builds = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)
WORKLOADS = [{"name": "usual", "symbols": {"n": 2048}}]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, str]]:
    """A workbench on a pretended GPU, and a kernel that was timed there."""
    folder = tmp_path_factory.mktemp("pretended")
    with pretended_gpu(folder), Workbench(folder / "out", [folder]) as bench:
        yield bench, bench.evaluator.open(gpu_lift.load(folder, workloads=WORKLOADS)).kernel_id


def searched(
    bench: Workbench, kernel_id: str, count: int, ncu_every: int | None = None
) -> tuple[SearchSession, list[StepReport]]:
    """A search of so many steps, and their reports."""
    settings = Settings(budget_builds=9, sweep_builds=1, ncu_every=ncu_every)
    session = SearchSession.start(bench, kernel_id, settings)
    made = [session.step() for _ in range(count)]
    session.close()
    return session, [each for each in made if isinstance(each, StepReport)]


def record(*profiles: SearchProfile, every: int | None = 2) -> SearchRecord:
    return SearchRecord(
        search_id="s1",
        kernel_id="k",
        planner="rules",
        settings=Settings(ncu_every=every),
        started_at="",
        profiles=profiles,
    )


def test_a_profile_is_due_after_so_many_evaluations_and_once_for_each_incumbent() -> None:
    assert [is_due(record(), steps, "v1") for steps in range(5)] == [
        False, False, True, False, True,
    ]  # fmt: skip
    assert not is_due(record(every=None), 2, "v1")
    assert not is_due(record(SearchProfile(step=2, variant_id="v1")), 4, "v1")
    assert is_due(record(SearchProfile(step=2, variant_id="v1")), 4, "v2")
    assert is_due(record(SearchProfile(step=2, variant_id="v1", failed="no GPU")), 4, "v1")


@needs_builds
def test_what_a_profile_found_reaches_the_planner_and_the_records(
    opened: tuple[Workbench, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    stand_in_ncu(tmp_path, "lift", monkeypatch)
    session, (first, second) = searched(bench, kernel_id, 2, ncu_every=2)
    assert first.profile is None and second.profile is not None
    found = second.profile
    assert not found.failed and found.bottleneck and found.step == 2
    context = session.context(found.variant_id)
    assert (context.bottleneck, context.findings) == (found.bottleneck, found.findings)
    assert lines_of(second)[1].startswith(f"profile of {found.variant_id}: {found.bottleneck}")
    again = SearchSession.resume(bench, session.search_id)
    assert again.context(found.variant_id).bottleneck == found.bottleneck
    told = inspect_handle(bench, InspectArguments(what="search", id=session.search_id)).facts
    assert told is not None and told["profiles"][0]["variant_id"] == found.variant_id


@needs_builds
def test_without_ncu_the_search_says_so_once_and_goes_on(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    monkeypatch.setattr(running, "program", lambda: None)
    shutil.rmtree(bench.outdir / "profiles", ignore_errors=True)  # another test's
    session, told = searched(bench, kernel_id, 2, ncu_every=1)
    made = [report.profile for report in told]
    assert [profile is None for profile in made] == [False, True]
    assert made[0] is not None and "no ncu here" in made[0].failed
    assert [each.failed for each in session.record.profiles] == [made[0].failed]
    assert lines_of(told[0])[1].startswith("no profiles: no ncu here")


@needs_builds
def test_searches_do_not_profile_unless_they_are_told_to(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, kernel_id = opened
    monkeypatch.setattr(bench.evaluator, "profile", None)
    session, _ = searched(bench, kernel_id, 1)
    assert session.record.profiles == ()


def test_of_host_code_a_search_says_that_there_are_no_profiles(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as bench:
        record = bench.evaluator.open(load_file(tmp_path / "spec.json", Roots([tmp_path])))
        _, (report,) = searched(bench, record.kernel_id, 1, ncu_every=1)
        assert report.profile is not None and "host C++" in report.profile.failed
