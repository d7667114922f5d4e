"""What the process of a module may touch: it runs the user's code, and compilers."""

from __future__ import annotations

import os
from pathlib import Path

from ..processes.confined import SYSTEM, python_folders
from ..processes.sandbox import drop_capabilities, landlock
from .common.messages import ModuleJob

READ = tuple(
    "/proc /sys /opt /etc/nvidia /etc/alternatives /etc/ld.so.cache /run/nvidia /bin /sbin".split()
)
"""what torch, compilers and the CUDA driver read besides"""
WRITE = ("/dev/null", "/dev/zero", "/dev/shm", "/dev/dxg", "/proc/self")


def confine(job: ModuleJob) -> None:
    """Close the doors: it writes into its own folder alone, reaches no TCP (where the kernel can),
    and has no capabilities. Called before torch starts threads."""
    read = [*SYSTEM, *map(Path, READ), *python_folders(), *map(Path, job.readable)]
    read += [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    devices = sorted(Path("/dev").glob("nvidia*")) if job.device == "cuda" else []
    write = [Path(job.scratch), *(Path(p) for p in WRITE if Path(p).exists()), *devices]
    landlock(read, write)
    drop_capabilities()
