"""The specs that a headless run is given: one file, or all of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...runners.errors import AccessError

SPEC_FIELDS = frozenset({"kernel", "io", "workloads"})


def find_specs(path: Path, outdir: Path) -> list[Path]:
    """The file itself, or every spec in and beneath a folder, in order of path.

    A spec is a JSON file that has at least two of the fields kernel, io and workloads, even
    if it is not valid yet. Hidden folders and `outdir` are left out. Raises AccessError when
    there is none.
    """
    if not path.is_dir():
        return [path]
    found = [file for file in _json_files(path, outdir.resolve()) if _is_spec(file)]
    if not found:
        raise AccessError(
            f"no spec in {path}",
            valid="a spec file (*.json), or a folder with at least one",
            next_step="kernelwright spec --schema prints every field of a spec",
        )
    return found


def _json_files(folder: Path, outdir: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if not f.startswith(".") and (Path(here) / f).resolve() != outdir
        )
        yield from (Path(here) / f for f in sorted(files) if f.endswith(".json"))


def _is_spec(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        data: Any = json.loads(text)
    except ValueError:
        # not JSON yet: whoever wrote it as a spec wants to hear of it
        return sum(f'"{field}"' in text for field in SPEC_FIELDS) >= 2
    return isinstance(data, dict) and len(SPEC_FIELDS & data.keys()) >= 2
