"""What `kernelwright doctor` says of this machine."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from kernelwright.runners.toolchains.compilers import nvcc, nvrtc
from kernelwright.server.doctor import WITHOUT_NVCC, WITHOUT_NVRTC, probe_host
from kernelwright.server.load import load_told


def test_the_cuda_compilers_are_those_that_builds_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvrtc, "library", lambda: None)
    monkeypatch.setattr(nvcc, "executable", lambda: Path("/opt/cuda/bin/nvcc"))
    said = {fact.name: (fact.present, fact.detail) for fact in probe_host().gpu}
    assert said["nvrtc"] == (False, WITHOUT_NVRTC)
    assert said["nvcc"] == (True, "/opt/cuda/bin/nvcc")
    monkeypatch.setattr(nvcc, "executable", lambda: None)
    said = {fact.name: (fact.present, fact.detail) for fact in probe_host().gpu}
    assert said["nvcc"] == (False, WITHOUT_NVCC) and said["cuda builds"][0] is False


@pytest.mark.parametrize(("wanting", "quiet"), [(0.0, True), (0.4, True), (3.0, False)])
def test_the_load_is_told_and_judged_by_the_cores_that_there_are(
    monkeypatch: pytest.MonkeyPatch, wanting: float, quiet: bool
) -> None:
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "getloadavg", lambda: (wanting * cores, 0.0, 0.0))
    said, told = load_told()
    assert said is quiet and told.startswith(f"{wanting * cores:.1f} programs")


def test_a_copy_that_was_never_installed_is_told_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    ours = next(f for f in probe_host().packages if f.name == "kernelwright")
    assert f"not installed: {sys.executable} -m pip install {Path(__file__).parents[2]}" in (
        ours.detail
    )
