"""What lies near a path at which there is no file to read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

NAMED = 5
ALIKE = 0.6
"""of difflib's ratio: `spce.json` for `spec.json` has 0.89, two names with one ending about 0.5"""
LOOKED_AT = 2000
"""entries of one folder; a folder of data may hold many more"""


def nearest(path: Path, roots: Sequence[Path]) -> str:
    """The names that are spelt most like it, or else end alike, in the deepest folder of its path
    that is there and beneath a root, in words: `in /project: spec.json, spec_small.json`; for a
    folder what it holds. Empty: nothing is like it."""
    try:
        folder, wanted = _place(path)
        if not any(folder.is_relative_to(root) for root in roots):
            return ""
        names = sorted(_shown(each) for each in islice(folder.iterdir(), LOOKED_AT))
    except OSError:
        return ""
    names = [name for name in names if not name.startswith(".")]
    if not wanted:
        found = names
    else:
        bare = {name.rstrip("/"): name for name in names}
        close = difflib.get_close_matches(wanted, bare, NAMED, ALIKE)
        found = [bare[name] for name in close] or [
            name for name in names if _ends_alike(name, path.suffix)
        ]
    return f"in {folder}: {', '.join(found[:NAMED])}" if found else ""


def _place(path: Path) -> tuple[Path, str]:
    """The deepest folder that is there, and what of the path is missing there first."""
    missing = ""
    while not path.is_dir():
        path, missing = path.parent, path.name
    return path, missing


def _shown(entry: Path) -> str:
    return f"{entry.name}/" if entry.is_dir() else entry.name


def _ends_alike(name: str, suffix: str) -> bool:
    return bool(suffix) and name.endswith(suffix)
