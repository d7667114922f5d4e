"""What can read a report here: NVIDIA's module `ncu_report`, wherever it lies, or ncu itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

MODULE = "ncu_report"
VARIABLE = "NCU_REPORT_PATH"
PROGRAM = "ncu"
ROOTS = (Path("/usr/local/cuda"), Path("/opt/cuda"))
INSTALLS = ("nsight-compute-*", "nsight-compute")
ALONE = Path("/opt/nvidia/nsight-compute")
EXTRAS = Path("extras/python")


@cache
def program() -> Path | None:
    """The ncu of this machine, None where there is none."""
    return next((path for path in _programs() if os.access(path, os.X_OK) and path.is_file()), None)


def module_folders() -> tuple[Path | None, ...]:
    """Folders to import `ncu_report` from, best first; None stands for where Python looks anyway.

    The package `ncu-report`, then $NCU_REPORT_PATH, then what came with each Nsight Compute.
    """
    installed: list[Path | None] = [] if find_spec(MODULE) is None else [None]
    named = os.environ.get(VARIABLE)
    others = [Path(named)] if named else []
    others += [install / EXTRAS for install in _installs()]
    return (*installed, *(f for f in dict.fromkeys(others) if _holds_module(f)))


def _holds_module(folder: Path) -> bool:
    return (folder / f"{MODULE}.py").exists() or (folder / MODULE).is_dir()


def _programs() -> Iterator[Path]:
    if found := shutil.which(PROGRAM):
        yield Path(found)
    for root in _cuda_roots():
        yield root / "bin" / PROGRAM
    for install in _installs():
        yield install / PROGRAM


def _installs() -> Iterator[Path]:
    """Folders of Nsight Compute, the one that PATH names first, then newest first."""
    if found := shutil.which(PROGRAM):
        yield Path(found).resolve().parent
    for root in _cuda_roots():
        for pattern in INSTALLS:
            yield from sorted(root.glob(pattern), reverse=True)
    yield from sorted(ALONE.glob("*"), reverse=True)


def _cuda_roots() -> Iterator[Path]:
    named = (os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH"))
    yield from (Path(root) for root in named if root)
    yield from ROOTS
