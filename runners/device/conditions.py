"""What NVML says of a GPU around a block: clocks, why they are low, temperature, who else is
there.

Without the package nvidia-ml-py, or where NVML refuses, conditions are empty.
"""

from __future__ import annotations

import importlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..model import Conditions
from .registry import registered

REASONS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "power_brake",
}
"""NVML's clock event reasons, but for those that say nothing is wrong (idle, display)."""

FRESH_S = 0.02
"""A process that comes to the GPU later than that before a block ends disturbs none of it: from
there to its first kernel it takes 0.2 s or more (benchmarks/driver_bindings.py)."""


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
            others = found - {self._own}
            if others and self._own in found:
                return tuple(sorted(others - registered(self._folder)))
        return ()


class Around:
    """What a watch says around one block, read by another thread while samples run: the driver
    takes longer for each question than for a launch, and the device would wait for all of them.

    What was read when the last round began is read again where that is more than FRESH_S ago.
    """

    def __init__(self, watch: Watch, reader: ThreadPoolExecutor) -> None:
        self._watch, self._reader = watch, reader
        self._before = reader.submit(watch.state)
        self._after: Future[Conditions] | None = None
        self._asked = 0.0

    def ending(self) -> None:
        """The last round begins."""
        self._asked = time.monotonic()
        self._after = self._reader.submit(self._conditions)

    def result(self) -> Conditions:
        """Before and after the block, waited for."""
        if self._after is None or time.monotonic() - self._asked > FRESH_S:
            return self._conditions()
        return self._after.result()

    def _conditions(self) -> Conditions:
        return self._watch.conditions(self._before.result())
