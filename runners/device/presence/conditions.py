"""What NVML says of a GPU around a block: clocks, why they are low, temperature, who else is
there.

Without the package nvidia-ml-py, or where NVML refuses, conditions are empty.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...model import Conditions
from .registry import registered

REASONS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "power_brake",
}
"""NVML's clock event reasons, but for those that say nothing is wrong (idle, display)."""


class Watch:
    """Reads one GPU's state. `own`: this process's id; `folder`: see `registry`."""

    def __init__(self, uuid: str, own: int, folder: Path) -> None:
        self._own, self._folder = own, folder
        self._nvml: Any = None
        self._device: Any = None
        with suppress(ImportError):
            nvml: Any = importlib.import_module("pynvml")
            with suppress(nvml.NVMLError):
                nvml.nvmlInit()
                self._device = nvml.nvmlDeviceGetHandleByUUID(uuid)
                self._nvml = nvml

    def clock(self) -> tuple[int, ...]:
        """The SM clock in MHz; empty: unknown."""
        if self._nvml is None:
            return ()
        with suppress(self._nvml.NVMLError):
            return (int(self._nvml.nvmlDeviceGetClockInfo(self._device, self._nvml.NVML_CLOCK_SM)),)
        return ()

    def state(self) -> Conditions:
        """Clock and temperature now: what a block starts from."""
        return Conditions(sm_mhz=self.clock(), celsius=self._celsius())

    def conditions(self, before: Conditions) -> Conditions:
        """After a block; `before`: its `state` at the start."""
        mask = self._reasons()
        reasons = tuple(name for bit, name in REASONS.items() if mask & bit)
        return Conditions(
            sm_mhz=(*before.sm_mhz, *self.clock()),
            celsius=(*before.celsius, *self._celsius()),
            reasons=reasons,
            strangers=self._strangers(),
        )

    def _celsius(self) -> tuple[int, ...]:
        """Of the GPU's core; empty: unknown."""
        if self._nvml is None:
            return ()
        with suppress(self._nvml.NVMLError):
            sensor = self._nvml.NVML_TEMPERATURE_GPU
            return (int(self._nvml.nvmlDeviceGetTemperature(self._device, sensor)),)
        return ()

    def _reasons(self) -> int:
        if self._nvml is None:
            return 0
        with suppress(self._nvml.NVMLError):
            return int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._device))
        return 0

    def _strangers(self) -> tuple[int, ...]:
        """Processes that compute there and are none of ours.

        NVML counts processes as the host does: inside a container that does not, we do not find
        ourselves in its list, and can tell nobody from anybody.
        """
        if self._nvml is None:
            return ()
        with suppress(self._nvml.NVMLError):
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._device)
            found = {int(process.pid) for process in running}
            if self._own in found:
                return tuple(sorted(found - registered(self._folder) - {self._own}))
        return ()
