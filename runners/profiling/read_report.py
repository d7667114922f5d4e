"""Reads a report with NVIDIA's module, in a process of its own: what the module does with a file
that others wrote is not ours to know.

`python -m kernelwright.runners.profiling.read_report JOB`, a file with a `ReadJob`; the answer is a
file with a `ReadAnswer`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from ..model import Record
from .envelope import read_envelope, release
from .extract import kernel_profile
from .model import KernelProfile


class ReadJob(Record):
    """A report to be read."""

    report: str
    answer: str
    """where the answer goes"""
    folder: str | None = None
    """where the module lies, if not where Python looks anyway"""
    instances: tuple[str, ...] = ()
    """further metrics whose instances are wanted"""


class ReadAnswer(Record):
    """The launches of a report, or `fault`: why this module does not read it."""

    launches: tuple[KernelProfile, ...] = ()
    reader: str = ""
    """version of the module"""
    fault: str = ""


def read(module: Any, path: Path, instances: Collection[str] = ()) -> ReadAnswer:
    """Every launch of a report, in order."""
    context: Any = module.load_report(str(path))
    reader = str(context.get_version())
    written = read_envelope(path.read_bytes()).version
    known, needed = release(reader), release(written)
    if known and needed and known < needed:
        return ReadAnswer(reader=reader, fault=f"it is older than ncu {written}")
    try:
        launches = tuple(
            kernel_profile(part.action_by_idx(i), instances)
            for part in (context.range_by_idx(r) for r in range(context.num_ranges()))
            for i in range(part.num_actions())
        )
    except ValueError as error:
        return ReadAnswer(reader=reader, fault=f"it finds {error}")
    return ReadAnswer(launches=launches, reader=reader)


def main() -> None:
    """argv is the file of a ReadJob."""
    job = ReadJob.model_validate_json(Path(sys.argv[1]).read_bytes())
    sys.path[:0] = [] if job.folder is None else [job.folder]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of code that SWIG made
        module = importlib.import_module("ncu_report")
    answer = read(module, Path(job.report), job.instances)
    Path(job.answer).write_text(answer.model_dump_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
