"""The specs that a headless run is given: a file, or all of a folder; which cannot be opened."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from ....evaluation.spec_agrees import check_memory, check_reference
from ....runners.errors import AccessError, KernelwrightError
from ....runners.loading.files import LoadedKernel, Roots, load_file

SPEC_FIELDS = frozenset({"kernel", "io", "workloads"})
NAMED = 5
"""files of a folder that are named where none is a spec"""


def find_specs(path: Path, outdir: Path) -> list[Path]:
    """The file itself, or every spec in and beneath a folder, in order of path.

    A spec is a JSON file that has at least two of the fields kernel, io and workloads, even
    if it is not valid yet. Hidden folders and `outdir` are left out. Raises AccessError when
    there is none.
    """
    if not path.is_dir():
        return [path]
    files = list(_json_files(path, outdir.resolve()))
    found = [file for file in files if _is_spec(file)]
    if not found:
        looked = ", ".join(str(f.relative_to(path)) for f in files[:NAMED])
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        raise AccessError(
            f"no spec in {path}{f' (looked at {looked}{more})' if files else ''}",
            valid="a spec file (*.json), or a folder with at least one: JSON with two or more of "
            f"the fields {', '.join(sorted(SPEC_FIELDS))}",
            next_step="kernelwright spec --schema prints every field of a spec",
        )
    return found


def refused_ahead(
    specs: Sequence[Path | LoadedKernel], roots: Roots
) -> dict[Path, KernelwrightError]:
    """What is wrong with the specs among these files that opening them would refuse, as far as
    reading tells: fields, files that they name, memory, the arguments of the reference.

    Nothing is built, and nothing of the user's runs. Whoever comes back after a night learns
    nothing late that could have been told at once.
    """
    refused = dict[Path, KernelwrightError]()
    for spec in specs:
        if isinstance(spec, LoadedKernel):
            continue
        try:
            loaded = load_file(spec, roots)
            check_memory(loaded.spec, psutil.virtual_memory().total)
            if loaded.reference is not None:
                check_reference(loaded.reference, loaded.spec)
        except KernelwrightError as error:
            refused[spec] = error
    return refused


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
