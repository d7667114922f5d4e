"""ncu over a launch plan: what is asked of it, what is watched, and what its ends mean.

The GPU is pretended (`pretend_gpu/`), and a stand-in takes ncu's place: it runs what it is told to
watch, and leaves a report of the form of a real one, which a stand-in for NVIDIA's module reads.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import device_kernels
import pytest
from device_kernels import DeviceBench, gpu_of, integer, launch, pointer
from profiles import module, report_file, stand_in_ncu

from kernelwright.runners.errors import ProfileFailed, ToolchainMissing
from kernelwright.runners.profiling import readers, running
from kernelwright.runners.profiling.judging import failure
from kernelwright.runners.profiling.messages import ProfileAnswer
from kernelwright.runners.profiling.permission import why_no_counters
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.runners.watched.ended import Ended
from kernelwright.runners.watched.running import tool_version

needs_builds = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)

FAULTY = device_kernels.HEAD + "    *(volatile float*)16 = x[0];\n}\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceBench]:
    with gpu_of("pretended", tmp_path_factory.mktemp("gpu")) as gpu:
        made = DeviceBench.of(gpu.device, tmp_path_factory.mktemp("bench"), twins=gpu.twins)
        made.load("right", device_kernels.RIGHT)
        made.load("faulty", FAULTY)
        n = made.bound.symbols["n"]
        once = launch("twice", 20, pointer("x"), pointer("y"), integer("n", n))
        made.load("twofold", device_kernels.RIGHT, steps=[once, once])
        yield made
        made.runner.close()


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in, where it finds a report and leaves what it was asked."""
    return stand_in_ncu(tmp_path, "twice", monkeypatch)


def asked(ncu: Path) -> dict[str, Any]:
    return json.loads((ncu / "asked.json").read_text(encoding="utf-8"))


@needs_builds
def test_one_run_is_profiled_and_its_report_kept(
    bench: DeviceBench, ncu: Path, tmp_path: Path
) -> None:
    report = tmp_path / "kept.ncu-rep"
    profile = bench.runner.profile("right", "k/w", report)
    assert [p.kernel for p in profile.launches] == ["twice"]
    assert report.read_bytes() == report_file()
    assert asked(ncu)["answer"] == {"finished": True, "fault": ""}
    assert asked(ncu)["returncode"] == 0
    assert not list(tmp_path.glob("*.scratch"))


@needs_builds
def test_clocks_stay_as_they_are_and_only_the_marked_run_is_looked_at(
    bench: DeviceBench, ncu: Path, tmp_path: Path
) -> None:
    bench.runner.profile("right", "k/w", tmp_path / "lean.ncu-rep")
    options = asked(ncu)["options"]
    told = dict(pairwise(options))
    assert (told["--clock-control"], told["--profile-from-start"]) == ("none", "off")
    assert options.count("--section") == len(running.SECTIONS)
    bench.runner.profile("right", "k/w", tmp_path / "full.ncu-rep", full=True)
    options = asked(ncu)["options"]
    assert options[:2] == ["--set", "full"] and "--section" not in options


@needs_builds
def test_a_launch_that_was_not_profiled_is_missed(
    bench: DeviceBench, ncu: Path, tmp_path: Path
) -> None:
    with pytest.raises(ProfileFailed, match="of 2 launches of the plan ncu profiled 1"):
        bench.runner.profile("twofold", "k/w", tmp_path / "a.ncu-rep")


@needs_builds
def test_a_report_that_nothing_here_can_read_is_kept(
    bench: DeviceBench, ncu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "module_folders", lambda: ())
    monkeypatch.setattr(readers, "program", lambda: None)
    with pytest.raises(ToolchainMissing, match=r"kernelwright\[ncu\]"):
        bench.runner.profile("right", "k/w", tmp_path / "a.ncu-rep")
    assert (tmp_path / "a.ncu-rep").read_bytes() == report_file()


@needs_builds
def test_a_variant_that_faults_is_told_in_the_drivers_words(
    bench: DeviceBench, ncu: Path, tmp_path: Path
) -> None:
    (ncu / "ready.ncu-rep").unlink()
    with pytest.raises(ProfileFailed, match="does not run under ncu: illegal address"):
        bench.runner.profile("faulty", "k/w", tmp_path / "a.ncu-rep")


@needs_builds
def test_counters_that_may_not_be_read_are_explained(
    bench: DeviceBench, ncu: Path, tmp_path: Path
) -> None:
    (ncu / "ready.ncu-rep").unlink()
    (ncu / "log").write_text("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
    with pytest.raises(ProfileFailed, match="CAP_SYS_ADMIN"):
        bench.runner.profile("right", "k/w", tmp_path / "a.ncu-rep")


@needs_builds
def test_without_ncu_it_is_said_what_to_install(
    bench: DeviceBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "program", lambda: None)
    with pytest.raises(ToolchainMissing, match="install Nsight Compute"):
        bench.runner.profile("right", "k/w", tmp_path / "a.ncu-rep")


@pytest.mark.parametrize(
    ("log", "timed_out", "answer", "said"),
    [
        ("==WARNING== No kernels were profiled.", False, ProfileAnswer(finished=True), "no kernel"),
        ("... driver resource was unavailable", False, None, "in use by somebody else"),
        ("==ERROR== Unknown section X", False, None, "Unknown section X"),
        ("", True, None, "smaller workload"),
        ("", False, None, "left no report: exit status 1"),
    ],
)
def test_every_other_end_has_its_reason(
    log: str, timed_out: bool, answer: ProfileAnswer | None, said: str
) -> None:
    ended = Ended(1, timed_out, "exit status 1", log)
    assert said in str(failure(ended, answer))


@pytest.mark.parametrize(
    ("params", "capabilities", "allowed"),
    [
        ("RmProfilingAdminOnly: 1\n", 0, False),
        ("RmProfilingAdminOnly: 1\n", 1 << 21, True),
        ("RmProfilingAdminOnly: 1\n", 1 << 38, True),
        ("RmProfilingAdminOnly: 0\n", 0, True),
        (None, 0, True),
    ],
)
def test_counters_are_refused_to_ordinary_users_where_the_driver_says_so(
    tmp_path: Path, params: str | None, capabilities: int, allowed: bool
) -> None:
    if params is not None:
        (tmp_path / "params").write_text(f"EnableMSI: 1\n{params}")
    (tmp_path / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities:016x}\n")
    assert (why_no_counters(tmp_path / "params", tmp_path / "status") == "") is allowed


def test_ncu_is_found_on_path_and_tells_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "ncu"
    found.write_text("#!/bin/sh\necho 'NVIDIA (R) Nsight Compute'\necho 'Version 2025.3.1.0 (b)'\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    readers.program.cache_clear()
    try:
        assert readers.program() == found
        assert tool_version(found) == "2025.3.1.0"
    finally:
        readers.program.cache_clear()


def test_modules_are_looked_for_where_people_say_and_beside_every_ncu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = module(tmp_path / "named")
    for release in ("2024.1.0", "2025.3.1"):
        install = tmp_path / f"cuda/nsight-compute-{release}"
        (install / "extras").mkdir(parents=True)
        module(install / "extras/python")
    monkeypatch.setenv("NCU_REPORT_PATH", str(named))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    shipped = [
        tmp_path / f"cuda/nsight-compute-{release}/extras/python"
        for release in ("2025.3.1", "2024.1.0")
    ]
    folders = [folder for folder in readers.module_folders() if folder is not None]
    assert folders[:3] == [named, *shipped]
