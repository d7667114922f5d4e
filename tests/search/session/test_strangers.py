"""Who else computes on the GPU of a search is told by the call that starts it: a pretended GPU, on
which NVML names a process that is there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gpu_lift
import pytest
from pretend_gpu import pretended_gpu

from kernelwright.runners.errors import DeviceBusy
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.store.searches import search_rows
from kernelwright.tools.search_step import SearchStepArguments, search_step

pytestmark = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)


def nvml_with(process: subprocess.Popen[bytes]) -> ModuleType:
    module = ModuleType("pynvml")
    there = SimpleNamespace(pid=process.pid, usedGpuMemory=3 << 30)

    def running(_: str) -> list[SimpleNamespace]:
        return [there]

    functions: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetHandleByUUID": str,
        "nvmlDeviceGetComputeRunningProcesses": running,
        "NVMLError": OSError,
    }
    vars(module).update(functions)
    return module


def test_strangers_are_named_in_the_notes_of_a_new_search_or_keep_it_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE) as stranger,
        pretended_gpu(tmp_path),
        Workbench(tmp_path / "out", [tmp_path]) as bench,
    ):
        kernel = bench.evaluator.open(gpu_lift.load(tmp_path)).kernel_id
        monkeypatch.setitem(sys.modules, "pynvml", nvml_with(stranger))
        asked = SearchStepArguments(
            kernel_id=kernel, planner="client", settings=Settings(busy_gpu="refuse")
        )
        with pytest.raises(DeviceBusy) as refused:
            search_step(bench, asked)
        assert f"(process {stranger.pid} of " in refused.value.message
        assert not search_rows(bench.store)

        told = search_step(bench, SearchStepArguments(kernel_id=kernel, planner="client"))
        (note,) = told.notes
        assert note.startswith("others compute on NVIDIA H100")
        assert f"sh (process {stranger.pid} of " in note and "holds 3072 MiB" in note
        again = search_step(bench, SearchStepArguments(search_id=told.search_id))
        assert again.notes == ()
        stranger.kill()
