"""Processes of ours that use GPUs, so that two servers do not take each other for strangers.

One file a process in a folder that all servers of a user share: its name is the process id, its
content the moment at which the process began, so that an id used again means nothing.
"""

from __future__ import annotations

import os
from pathlib import Path


def register(folder: Path) -> None:
    """Note the calling process."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).write_text(_began(os.getpid()), encoding="ascii")


def registered(folder: Path) -> frozenset[int]:
    """Those that live; what the others left is removed."""
    living = set[int]()
    for file in folder.glob("[0-9]*"):
        pid = int(file.name)
        try:
            noted = file.read_text(encoding="ascii")
        except FileNotFoundError:
            continue
        if noted and noted == _began(pid):
            living.add(pid)
        else:
            file.unlink(missing_ok=True)
    return frozenset(living)


def _began(pid: int) -> str:
    """When a process began, in ticks since boot; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(b")")[2].split()[19].decode()
