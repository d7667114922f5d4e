"""Host-wide locks on devices: whoever times has the device to itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import KernelwrightError

WAIT_S = 600.0
ASK_S = 1.0
POLL_S = 0.005
"""between two looks at a lock: a device stands still so long when it changes hands"""


def lock_folder() -> Path:
    """Where the locks of this user lie, beneath the system's temporary folder."""
    folder = Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def gpu_registry() -> Path:
    """Where all servers of this user note their processes on GPUs (`device/registry.py`)."""
    return lock_folder() / "gpu-processes"


@contextmanager
def timing_lock(device: str, waiting: Callable[[str], None] | None = None) -> Generator[None]:
    """Hold a device (`host`, or a GPU's UUID) while timing on it.

    `waiting` is told who holds it, once, if that is somebody else. Who has just held it comes after
    those who wait. The kernel frees the lock when its holder dies. Raises KernelwrightError after
    ten minutes.
    """
    door, lock = (FileLock(lock_folder() / f"{device}.{part}") for part in ("door", "lock"))
    holder = lock_folder() / f"{device}.holder"
    try:
        _enter(door, lock, ASK_S)
    except Timeout:
        if waiting is not None:
            waiting(f"waiting: process {_read(holder)} is timing on {device}")
        try:
            _enter(door, lock, WAIT_S)
        except Timeout as error:
            raise KernelwrightError(
                f"{device} was not free for {WAIT_S:g} s; process {_read(holder)} is timing on it",
                next_step="wait for it, or end it",
            ) from error
    try:
        holder.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _enter(door: FileLock, lock: FileLock, patience: float) -> None:
    """Take the lock from within the door, so that a waiter there is next. Raises Timeout.

    Waiters ask again and again: without a door, a process that times again and again would mostly
    have taken the lock anew before one of them asked.
    """
    with door.acquire(timeout=patience, poll_interval=POLL_S):
        lock.acquire(timeout=patience, poll_interval=POLL_S)


def _read(holder: Path) -> str:
    try:
        return holder.read_text(encoding="ascii").strip() or "unknown"
    except OSError:
        return "unknown"
