"""Files replaced whole: a reader sees what was there before, or all of what is there now."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MOST_OF_NAME: Final = 48
"""characters of a file's name that stand in the name beside it, which may be no longer than 255
bytes either: kernels of generated code have names that nearly are"""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A path beside `path`, for the body to make something at (a file, a link), which takes its
    place when the body has ended. Where the body raises, nothing has changed and nothing stays.

    The name is of this process and thread alone: of writers side by side the last one counts.
    """
    begun = path.name[:MOST_OF_NAME]
    partial = path.with_name(f".{begun}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        partial.unlink(missing_ok=True)  # of a process of the same number, which was killed
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(
    path: Path, content: str | bytes, *, durable: bool = False, like: Path | None = None
) -> Path:
    """Write a file; text as UTF-8, its line ends as they are.

    `durable`: on disk for good when this returns, also where the machine fails then. `like`: a file
    whose permissions it gets.
    """
    with replacing(path) as partial:
        with partial.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if like is not None:
            shutil.copymode(like, partial)
    if durable:
        sync_folder(path.parent)
    return path


def sync_folder(folder: Path) -> None:
    """Have on disk for good which files a folder holds."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
