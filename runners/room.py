"""Folders that cannot be written to: which one it is, and what to do about it."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import NoRoom

FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL_WORDS = ("No space left on device", "Disk quota exceeded")
"""what programs print of these errors"""


def full(folder: Path, what: str) -> NoRoom:
    """The error for `what` (a noun phrase) that found no room in a folder."""
    return NoRoom(
        f"there is no room for {what}: the disk of {folder} is full",
        next_step=f"free space there (see `df -h {folder}`), then repeat the call; "
        "another --outdir may lie on another disk",
    )


@contextmanager
def writing(folder: Path, what: str) -> Generator[None]:
    """Name the folder where writing `what` into it fails. Raises NoRoom."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise full(folder, what) from error
        if error.errno in _CLOSED:
            raise NoRoom(
                f"{what} cannot be written into {folder}: {error.strerror}",
                next_step="change its permissions, or choose another --outdir",
            ) from error
        raise
