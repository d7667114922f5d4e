"""A file replaced so that it can be undone: backup first, whole or not at all, on disk for good."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...runners.errors import AccessError
from ...runners.whole_files import sync_folder, write_whole


@dataclass(frozen=True)
class Written:
    """A file as it was written. `backup` holds what was there before; None: nothing was."""

    path: Path
    backup: Path | None

    def undo(self) -> None:
        """Put back what was there before."""
        if self.backup is None:
            self.path.unlink(missing_ok=True)
        else:
            os.replace(self.backup, self.path)
        sync_folder(self.path.parent)


def write_with_backup(path: Path, text: str) -> Written:
    """Replace the file atomically, keeping the old one as `<file>.bak-<n>`.

    Raises AccessError when the folder is not there or cannot be written to.
    """
    backup: Path | None = None
    try:
        backup = _back_up(path) if path.exists() else None
        write_whole(path, text, durable=True, like=backup)
    except OSError as error:
        if backup is not None and backup.exists():
            os.replace(backup, path)
        raise AccessError(
            f"{path} cannot be written: {error.strerror}",
            valid="a file in an existing folder beneath the roots",
        ) from error
    return Written(path, backup)


def _back_up(path: Path) -> Path:
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak-{number}")
        try:
            with backup.open("xb") as file:
                file.write(path.read_bytes())
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            number += 1
            continue
        shutil.copymode(path, backup)
        return backup
