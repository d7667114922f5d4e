"""A program's own source, changed so that it installs a winner, and put back by its hash."""

from __future__ import annotations

import ast
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ....deploy.reading import read_winner
from ....runners.errors import AccessError, SpecError
from ...parts.written_file import write_with_backup

MARK = "# kernelwright: installs a winner; undone by `kernelwright operator patch --undo`, before "


@dataclass(frozen=True, slots=True)
class Patched:
    """A changed file. `backup` holds what it was."""

    file: Path
    backup: Path


def patch_source(file: Path, winner: Path) -> Patched:
    """Two lines behind a file's docstring and `__future__` imports. Raises SpecError for a file
    that is no Python or was patched already, Refused for a folder that holds no winner."""
    told = read_winner(winner)
    was = file.read_text("utf-8")
    if MARK in was:
        raise SpecError(f"{file} is patched already", next_step="undo it first: --undo")
    digest = hashlib.sha256(was.encode()).hexdigest()
    lines = was.splitlines(keepends=True)
    at = _behind_head(was, file)
    home = os.path.abspath(winner)
    new = [
        f"{MARK}{digest}\n",
        f"import kernelwright.deploy; kernelwright.deploy.install({home!r})  # {told.operator}\n",
    ]
    written = write_with_backup(file, "".join((*lines[:at], *new, *lines[at:])))
    assert written.backup is not None  # the file was there
    return Patched(file, written.backup)


def undo_patch(file: Path) -> Path:
    """Put back what the file was before, found among its backups by its hash; the backup. Raises
    AccessError where the file is not patched, or no backup has that hash."""
    marks = [line for line in file.read_text("utf-8").splitlines() if line.startswith(MARK)]
    if not marks:
        raise AccessError(f"{file} is not patched", valid="a file that `operator patch` changed")
    wanted = marks[0].removeprefix(MARK).strip()
    for backup in sorted(file.parent.glob(f"{file.name}.bak-*")):
        if hashlib.sha256(backup.read_bytes()).hexdigest() == wanted:
            os.replace(backup, file)
            return backup
    raise AccessError(
        f"no backup of {file} has the hash {wanted[:16]}: it was changed or removed",
        next_step="take the two lines out by hand",
    )


def _behind_head(text: str, file: Path) -> int:
    """How many lines come before the first statement that is neither docstring nor `__future__`."""
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise SpecError(f"{file} is no Python: {error}") from error
    end = 0
    for each in body:
        documents = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        future = isinstance(each, ast.ImportFrom) and each.module == "__future__"
        if not (documents or future):
            return end
        end = each.end_lineno or end
    return end
