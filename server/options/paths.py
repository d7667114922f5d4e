"""Paths on the command line: one at which nothing is, is told with what lies near it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...runners.errors import AccessError
from ...runners.specs.nearest import nearest

Given = Path | Sequence[Path] | None
"""of an option, of one that may be repeated, or of one that was left out"""

_ANYWHERE = (Path("/"),)
"""Names of any folder may be told: the command line is its user's own, other than a tool call."""


def there(given: Given) -> Given:
    """Files or folders that exist. Raises AccessError with the names nearest to a missing one."""
    for path in _each(given):
        _require(path)
    return given


def file_there(given: Given) -> Given:
    """As `there`, for files."""
    for path in _each(given):
        _require(path)
        if path.is_dir():
            raise AccessError(
                f"{path} is a folder, not a file",
                valid=nearest(path.resolve(), _ANYWHERE),
                next_step="name a file in it",
            )
    return given


def folder_there(given: Given) -> Given:
    """As `there`, for folders."""
    for path in _each(given):
        _require(path)
        if not path.is_dir():
            raise AccessError(f"{path} is a file, not a folder", next_step="name a folder")
    return given


def _each(given: Given) -> Sequence[Path]:
    if given is None:
        return ()
    return (given,) if isinstance(given, Path) else given


def _require(path: Path) -> None:
    try:
        path.stat()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise AccessError(
            f"{path} cannot be read: {why}",
            valid=nearest(Path(os.path.abspath(path)), _ANYWHERE),
            next_step="correct the path",
        ) from error
