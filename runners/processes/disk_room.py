"""Folders that cannot be written to: which one it is, and what to do about it."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from ..errors import NoRoom

FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL_WORDS = ("No space left on device", "Disk quota exceeded")
"""what programs print of these errors"""
BUILD_BYTES = 1 << 20
"""More than the intermediate files of a small program, which its compiler removes as it fails."""


def full(folder: Path, what: str) -> NoRoom:
    """The error for `what` (a noun phrase) that found no room in a folder."""
    return NoRoom(
        f"there is no room for {what}: the disk of {folder} is full",
        next_step=f"free space there (see `df -h {folder}`), then repeat the call; "
        "another --outdir may lie on another disk",
    )


def ended_for_room(said: str, folder: Path) -> bool:
    """Whether a program of ours that failed in a folder found no room there: it says so, or the
    folder takes no more. What it says is kept on the same disk, so it may be cut or missing."""
    return any(words in said for words in FULL_WORDS) or _takes_no_more(folder)


def _takes_no_more(folder: Path) -> bool:
    """Asked by writing: a quota shows nowhere else."""
    try:
        with TemporaryFile(dir=folder) as probe:
            probe.write(bytes(BUILD_BYTES))
    except OSError as error:
        return error.errno in FULL
    return False


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
