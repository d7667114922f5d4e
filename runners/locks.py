"""Host-wide locks on devices: whoever times has the device to itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import KernelwrightError

WAIT_S = 600.0


@contextmanager
def timing_lock(device: str) -> Generator[None]:
    """Hold a device (`host`, or a GPU's UUID) while timing on it.

    The lock is a file in a folder of the user's own beneath the system's temporary folder;
    the kernel frees it when its holder dies. Raises KernelwrightError after ten minutes.
    """
    folder = Path(tempfile.gettempdir()) / f"kernelwright-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = FileLock(folder / f"{device}.lock")
    try:
        lock.acquire(timeout=WAIT_S)
    except Timeout as error:
        raise KernelwrightError(
            f"another process has been timing on {device} for {WAIT_S:g} s",
            next_step="see `kernelwright doctor`, or wait for the other search to end",
        ) from error
    try:
        yield
    finally:
        lock.release()
