"""What NVML says of the pretended GPUs: what the test has written into PRETEND_GPU_NVML (JSON)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NVML_CLOCK_SM = 1
NVML_TEMPERATURE_GPU = 0


class NVMLError(Exception):
    """As of the package; never raised by what is here."""


@dataclass(frozen=True)
class _Process:
    pid: int


def _state() -> dict[str, Any]:
    return json.loads(Path(os.environ["PRETEND_GPU_NVML"]).read_text(encoding="utf-8"))


def nvmlInit() -> None:
    """There is nothing to begin."""


def nvmlDeviceGetHandleByUUID(uuid: str) -> str:
    return uuid


def nvmlDeviceGetClockInfo(device: str, which: int) -> int:
    del device, which
    return _state()["sm_mhz"]


def nvmlDeviceGetTemperature(device: str, sensor: int) -> int:
    del device, sensor
    return _state()["celsius"]


def nvmlDeviceGetCurrentClocksThrottleReasons(device: str) -> int:
    del device
    return _state()["reasons"]


def nvmlDeviceGetComputeRunningProcesses(device: str) -> list[_Process]:
    """The process that asks, and those whom the test names."""
    del device
    return [_Process(pid) for pid in (os.getpid(), *_state()["strangers"])]
