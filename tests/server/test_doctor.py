"""What `kernelwright doctor` says of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.runners.toolchains import nvcc, nvrtc
from kernelwright.server.doctor import WITHOUT_NVCC, WITHOUT_NVRTC, probe_host


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
