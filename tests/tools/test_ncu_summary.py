"""Profiles as a client asks for them: made here, kept, imported, and what is said without counters.

The GPU is pretended, and stand-ins take the places of ncu and of NVIDIA's module.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_lift
import pytest
from kernels import tiny_kernel
from pretend_gpu import pretended_gpu
from profiles import module, report_file, stand_in_ncu
from pydantic import ValidationError

from kernelwright.evaluation.evidence.profiles import kept_profile
from kernelwright.runners.errors import AccessError, KernelwrightError, ProfileFailed, SpecError
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.profiling import readers, running
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.ncu_summary import NcuSummary, NcuSummaryArguments, ncu_summary

needs_builds = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)
WORKLOADS = [
    {"name": "usual", "symbols": {"n": 1024}},  # 4 blocks of 256, as the stand-ins count
    {"name": "small", "symbols": {"n": 512}},
    {"name": "hidden", "symbols": {"n": 1280}, "held_out": True},
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, str]]:
    """A workbench on a pretended GPU, and the baseline of a kernel that was timed there."""
    folder = tmp_path_factory.mktemp("pretended")
    with pretended_gpu(folder), Workbench(folder / "out", [folder]) as bench:
        record = bench.evaluator.open(gpu_lift.load(folder, workloads=WORKLOADS))
        yield bench, record.baseline


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Workbench]:
    """A workbench that nothing was opened at."""
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        yield bench


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return stand_in_ncu(tmp_path, "lift", monkeypatch)


def ask(bench: Workbench, variant_id: str | None, **arguments: Any) -> NcuSummary:
    return ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, **arguments))


@needs_builds
def test_a_profile_is_made_once_and_kept(opened: tuple[Workbench, str], ncu: Path) -> None:
    bench, variant_id = opened
    first = ask(bench, variant_id, again=True)
    assert first.report is not None and Path(first.report).read_bytes() == report_file()
    assert any(line.startswith("bottleneck  unknown") for line in first.summary)
    (ncu / "asked.json").unlink()
    assert ask(bench, variant_id) == first
    assert not (ncu / "asked.json").exists()
    assert ask(bench, variant_id, full=True) == first
    assert (ncu / "asked.json").exists()


@needs_builds
def test_any_metric_is_found_by_words_and_told_by_name(
    opened: tuple[Workbench, str], ncu: Path
) -> None:
    bench, variant_id = opened
    found = ask(bench, variant_id, search="time duration").metrics
    assert [(row.name, row.value) for row in found or ()] == [("gpu__time_duration.sum", 1500)]
    told = ask(bench, variant_id, metric="smsp__pcsamp_sample_count").metrics
    assert told is not None and len(told) == 1
    assert told[0].instances == {str(0x1010): 20, str(0x1020): 10, str(0x1030): 0}
    several = ask(bench, variant_id, metrics=("time_ns", "smsp__pcsamp_sample_count")).metrics
    assert [row.name for row in several or ()] == [
        "gpu__time_duration.sum",
        "smsp__pcsamp_sample_count",
    ]
    with pytest.raises(KernelwrightError, match="`time_nss` was not collected"):
        ask(bench, variant_id, metrics=("time_ns", "time_nss"))
    numbers = ask(bench, variant_id).canonical
    assert numbers is not None and numbers["time_ns"] == 1500


@needs_builds
def test_without_ncu_the_measured_time_says_what_it_can(
    opened: tuple[Workbench, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, variant_id = opened
    monkeypatch.setattr(running, "program", lambda: None)
    told = ask(bench, variant_id, again=True)
    assert told.report is None
    assert told.without_counters is not None and "no ncu here" in told.without_counters
    assert "low confidence" in told.summary[1]
    assert told.skills == ("low-waves-per-sm",)  # 2 blocks for 4


@needs_builds
def test_a_picture_comes_with_the_summary_with_counters_and_without(
    opened: tuple[Workbench, str], ncu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, variant_id = opened
    with pytest.raises(KernelwrightError, match="section WarpStateStats"):
        ask(bench, variant_id, picture="stalls")  # the stand-in counts none
    told = ask(bench, variant_id, picture="roofline")
    assert told.summary and told.picture is not None
    assert variant_id in Path(told.picture).read_text(encoding="utf-8")
    monkeypatch.setattr(running, "program", lambda: None)
    alone = ask(bench, variant_id, again=True, picture="roofline")
    assert alone.without_counters is not None and alone.picture == told.picture


@needs_builds
def test_a_report_of_another_kernel_is_refused(
    opened: tuple[Workbench, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, variant_id = opened
    found = module(tmp_path / "module", name="softmax", entry="softmax")
    monkeypatch.setattr(readers, "module_folders", lambda: (found,))
    report = bench.outdir.parent / "other.ncu-rep"
    report.write_bytes(report_file())
    with pytest.raises(ProfileFailed, match="`softmax` is not launched"):
        ask(bench, variant_id, report=str(report))
    assert ask(bench, None, report=str(report)).variant_id is None


@needs_builds
def test_a_report_made_elsewhere_is_kept_for_its_variant(
    opened: tuple[Workbench, str], ncu: Path
) -> None:
    bench, variant_id = opened
    shutil.rmtree(bench.outdir / "profiles", ignore_errors=True)
    report = bench.outdir.parent / "mine.ncu-rep"
    report.write_bytes(report_file())
    ask(bench, variant_id, report=str(report))
    assert kept_profile(bench, variant_id, "usual") is not None
    assert ask(bench, variant_id).report != str(report)
    assert not (ncu / "asked.json").exists(), "and nothing was profiled here"


@needs_builds
def test_of_a_report_of_a_whole_program_the_launches_of_the_variant_count(
    opened: tuple[Workbench, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, variant_id = opened
    shutil.rmtree(bench.outdir / "profiles", ignore_errors=True)
    found = module(tmp_path / "module", entry="lift", launches=7, grid=(132, 4, 2))
    monkeypatch.setattr(readers, "module_folders", lambda: (found,))
    report = bench.outdir.parent / "program.ncu-rep"
    report.write_bytes(report_file())
    told = ask(bench, variant_id, report=str(report))
    assert told.summary[0].startswith("2 launches of this variant; ")
    kept = kept_profile(bench, variant_id, "usual")
    assert kept is not None and {each.shape.grid for each in kept.launches} == {(4, 1, 1)}
    for named in ({"report": str(report)}, {}):
        rows = ask(bench, variant_id, metric="launch__grid_dim_x", **named).metrics
        assert rows is not None and [row.value for row in rows] == [4.0, 4.0]


@needs_builds
@pytest.mark.parametrize(
    ("found", "workload", "words"),
    [
        (
            {"grid": 132, "block": 384},
            "usual",
            "grid 132x1x1, not 4x1x1, block 384x1x1, not 256x1x1",
        ),
        ({}, "small", "Next: it is of workload `usual`: name that one"),
        ({"grid": 5}, "usual", "Next: give the report of this variant"),
    ],
)
def test_a_report_of_another_launch_of_a_kernel_of_that_name_is_refused_and_not_kept(
    opened: tuple[Workbench, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    found: dict[str, Any],
    workload: str,
    words: str,
) -> None:
    """5 blocks are those of the workload that is held out, of which nothing is told."""
    bench, variant_id = opened
    shutil.rmtree(bench.outdir / "profiles", ignore_errors=True)
    stood_in = module(tmp_path / "module", entry="lift", **found)
    monkeypatch.setattr(readers, "module_folders", lambda: (stood_in,))
    report = bench.outdir.parent / "theirs.ncu-rep"
    report.write_bytes(report_file())
    with pytest.raises(ProfileFailed) as refused:
        ask(bench, variant_id, report=str(report), workload=workload)
    blocks = 4 if workload == "usual" else 2
    assert words in str(refused.value) and "hidden" not in str(refused.value)
    assert f"Valid: `lift` with grid {blocks}x1x1, block 256x1x1\n" in str(refused.value)
    assert kept_profile(bench, variant_id, workload) is None


@needs_builds
def test_a_workload_that_is_not_there_is_answered_with_those_that_are(
    opened: tuple[Workbench, str],
) -> None:
    with pytest.raises(SpecError, match="usual"):
        ask(*opened, workload="huge")


def test_a_report_made_elsewhere_needs_no_gpu(laptop: Workbench, tmp_path: Path, ncu: Path) -> None:
    (tmp_path / "mine.ncu-rep").write_bytes(report_file())
    told = ask(laptop, None, report="mine.ncu-rep")
    assert told.summary[0].startswith("k, a GPU, grid 4x1x1")
    assert not (ncu / "asked.json").exists()


def test_only_files_beneath_the_allowed_folders_are_read(laptop: Workbench) -> None:
    with pytest.raises(AccessError):
        ask(laptop, None, report="/etc/hostname")


def test_a_report_that_is_not_there_is_answered_with_those_that_are(
    laptop: Workbench, tmp_path: Path
) -> None:
    (tmp_path / "mine.ncu-rep").write_bytes(report_file())
    with pytest.raises(AccessError) as missing:
        ask(laptop, None, report="mime.ncu-rep")
    assert f"Valid: in {tmp_path}: mine.ncu-rep\nNext: correct the path" in str(missing.value)


def test_host_code_has_no_counters(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        tiny_kernel(tmp_path)
        record = bench.evaluator.open(load_file(tmp_path / "spec.json", Roots([tmp_path])))
        with pytest.raises(SpecError, match="host C"):
            ask(bench, record.baseline)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"variant_id": "v1", "metric": "a", "search": "bc"},
        {"variant_id": "v1", "metrics": ["a"], "search": "bc"},
        {"variant_id": "v1", "metrics": []},
        {"report": "a.ncu-rep", "full": True},
        {"variant_id": "v1", "metric": "a", "picture": "stalls"},
    ],
)
def test_arguments_that_do_not_fit_together_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NcuSummaryArguments.model_validate(arguments)
