"""Who computes on a GPU, and what they hold there, as NVML tells it."""

from __future__ import annotations

import importlib
import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .registry import registered

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Occupant:
    """A process that has a context on a GPU."""

    pid: int
    """as the host counts; in a container it may be nobody's"""
    program: str
    """empty: it is not seen from here"""
    user: str
    held_bytes: int | None
    """of the GPU's memory; None: the driver does not say"""

    def describe(self) -> str:
        """`python3 (process 4242 of alice) holds 512 MiB`."""
        who = f"{self.program} (process {self.pid} of {self.user})"
        if not self.program:
            who = f"process {self.pid} (of the host or of another container)"
        held = "memory of unknown size"
        if self.held_bytes is not None:
            held = f"{round(self.held_bytes / MIB)} MiB"
        return f"{who} holds {held}"


def strangers_on(uuid: str, folder: Path) -> tuple[Occupant, ...] | None:
    """Those on a GPU that are no processes of ours, by id; None: NVML does not tell.

    `folder`: see `registry`.
    """
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        try:
            device = nvml.nvmlDeviceGetHandleByUUID(uuid)
            running = list(nvml.nvmlDeviceGetComputeRunningProcesses(device))
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError:
        return None
    ours = registered(folder) | {os.getpid()}
    found = {int(p.pid): getattr(p, "usedGpuMemory", None) for p in running}
    return tuple(_occupant(pid, held) for pid, held in sorted(found.items()) if pid not in ours)


def _occupant(pid: int, held: int | None) -> Occupant:
    program, user = "", ""
    process = Path(f"/proc/{pid}")
    with suppress(OSError, KeyError):
        program = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        uid = process.stat().st_uid
        user = str(uid)
        user = pwd.getpwuid(uid).pw_name
    return Occupant(pid, program, user, None if held is None else int(held))
