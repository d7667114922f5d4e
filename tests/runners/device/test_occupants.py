"""Who computes on a GPU: told by an NVML that names real processes of this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kernelwright.evaluation.rig.preflight import preflight
from kernelwright.runners.device.presence.occupants import strangers_on
from kernelwright.runners.device.presence.registry import end_leftovers, registered
from kernelwright.runners.errors import DeviceBusy

REGISTERS = """\
import signal, sys
from pathlib import Path
from kernelwright.runners.device.presence.registry import register
register(Path(sys.argv[1]))
print("there", flush=True)
signal.pause()
"""
LEAVES = """\
import subprocess, sys
command = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdout.readline()
print(child.pid, flush=True)
"""
GONE = 1 << 22
"""no process has this id: the largest is one less (proc(5), pid_max)"""


def nvml(*running: SimpleNamespace) -> ModuleType:
    """NVML with these processes on every GPU; asked again it finds one less."""
    module = ModuleType("pynvml")
    left = list(running)

    def processes(_: str) -> list[SimpleNamespace]:
        found = list(left)
        del left[-1:]
        return found

    functions: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetHandleByUUID": str,
        "nvmlDeviceGetComputeRunningProcesses": processes,
        "NVMLError": OSError,
    }
    vars(module).update(functions)
    return module


@pytest.fixture
def noted(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that has noted itself."""
    command = [sys.executable, "-c", REGISTERS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    command = ["sh", "-c", "echo there; read line"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def busy(monkeypatch: pytest.MonkeyPatch, *running: SimpleNamespace) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(*running))


def test_a_stranger_is_named_with_what_it_holds_and_ours_are_none(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    stranger: subprocess.Popen[bytes],
    noted: subprocess.Popen[bytes],
) -> None:
    busy(
        monkeypatch,
        SimpleNamespace(pid=noted.pid, usedGpuMemory=1 << 30),
        SimpleNamespace(pid=stranger.pid, usedGpuMemory=512 << 20),
        SimpleNamespace(pid=GONE, usedGpuMemory=None),
    )
    found = strangers_on("GPU-0", tmp_path)
    assert found is not None
    first, second = (each.describe() for each in found)
    assert first.startswith(f"sh (process {stranger.pid} of ")
    assert first.endswith("holds 512 MiB")
    assert second.startswith(f"process {GONE} (of the host or of another container)")


def test_without_nvml_nobody_is_said_to_be_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert strangers_on("GPU-0", tmp_path) is None


def test_a_process_whose_owner_has_ended_is_ended_and_one_of_a_living_owner_stays(
    tmp_path: Path, noted: subprocess.Popen[bytes]
) -> None:
    command = [sys.executable, "-c", LEAVES, str(tmp_path), REGISTERS]
    left = int(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    assert registered(tmp_path) == {left, noted.pid}
    assert end_leftovers(tmp_path) == (left,)
    assert registered(tmp_path) == {noted.pid}
    assert noted.poll() is None
    assert end_leftovers(tmp_path) == ()


class OneGpu:
    """The GPUs of a kernel, as `preflight` asks for them."""

    def __init__(self, uuid: str | None = "GPU-0") -> None:
        self._uuid = uuid

    def lanes(self, _: object) -> tuple[Any, ...]:
        return (SimpleNamespace(uuid=self._uuid, name="NVIDIA H100"),)


def checked(gpus: OneGpu, policy: Any, pause: Any = None) -> tuple[str, ...]:
    anything: Any = gpus
    return preflight(anything, anything, policy, pause)


def test_a_search_goes_on_is_refused_or_waits_as_it_was_told(
    monkeypatch: pytest.MonkeyPatch, stranger: subprocess.Popen[bytes]
) -> None:
    there = SimpleNamespace(pid=stranger.pid, usedGpuMemory=1 << 30)
    busy(monkeypatch, there)
    (line,) = checked(OneGpu(), "go_on")
    assert line.startswith("others compute on NVIDIA H100 (GPU-0): sh (process ")

    busy(monkeypatch, there)
    with pytest.raises(DeviceBusy) as refused:
        checked(OneGpu(), "refuse")
    assert "holds 1024 MiB" in refused.value.message
    assert "busy_gpu" in refused.value.next_step

    busy(monkeypatch, there, there, there)
    paused = list[float]()
    assert checked(OneGpu(), "wait", paused.append)
    assert len(paused) == 3


def test_a_gpu_that_is_free_or_not_here_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch) -> None:
    busy(monkeypatch)
    assert checked(OneGpu(), "refuse") == ()
    busy(monkeypatch, SimpleNamespace(pid=1, usedGpuMemory=1))
    assert checked(OneGpu(uuid=None), "refuse") == ()
