"""Captures in confined forks: a candidate's Python runs here and nowhere else.

One fork a shape, and one more for the first shape: what differs between two captures of the same
call would differ between build and use. The forks share a cache of compiled kernels, so that equal
specialisations are compiled once.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from ..capture.messages import CaptureRequest, CaptureResult
from ..processes.confined import Bounds, ConfinedFork, Ended, python_folders, read_left, run_all
from ..processes.huge_pages import FOR_PROGRAMS
from .base import BuildOutcome, Stopwatch
from .plan_difference import plan_difference

MAX_RESULT_BYTES = 64 << 20
LEAST_S = 0.1
LOG_CHARACTERS = 2000


class CaptureFailed(Exception):
    """A capture without a plan: `outcome` says why."""

    def __init__(self, outcome: BuildOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where captures run: a folder of theirs, one for logs, and the time by which they end."""

    folder: Path
    logs: Path
    deadline: float
    """of `time.monotonic`"""
    limit_s: float
    """for messages"""


def capture_all(
    requests: Sequence[CaptureRequest], place: Workplace, clock: Stopwatch
) -> list[CaptureResult]:
    """The captures of all requests, in order. Raises CaptureFailed for the first without a plan."""
    first = _captures(requests[:1], ["0"], place)[0]
    clock.lap("first shape")
    names = ["again", *(str(number) for number in range(1, len(requests)))]
    results = _captures([requests[0], *requests[1:]], names, place)
    clock.lap("again, and other shapes")
    assert first.plan is not None and results[0].plan is not None
    if difference := plan_difference(first.plan, results[0].plan):
        raise CaptureFailed(BuildOutcome(message=f"not deterministic: {difference}", rejected=True))
    return [first, *results[1:]]


def _captures(
    requests: Sequence[CaptureRequest], names: Sequence[str], place: Workplace
) -> list[CaptureResult]:
    """Captures side by side. Raises CaptureFailed."""
    pairs = zip(requests, names, strict=True)
    ends = run_all([partial(_fork, request, name, place) for request, name in pairs])
    triples = zip(requests, names, ends, strict=True)
    return [_result(request, name, ended, place) for request, name, ended in triples]


def _fork(request: CaptureRequest, name: str, place: Workplace) -> ConfinedFork:
    def body() -> None:
        gc.disable()  # a compilation leaves little to collect: looking for it is 7 % of its time
        private_folders(place.folder)
        from ..capture import capture

        found = capture(request)
        (place.folder / f"{name}.json").write_text(found.model_dump_json(), encoding="utf-8")

    return ConfinedFork(
        body,
        folder=place.folder,
        log=place.logs / f"{name}.log",
        bounds=Bounds(wall_s=max(LEAST_S, place.deadline - time.monotonic())),
        read=python_folders(),
    )


def private_folders(folder: Path) -> None:
    """Everything that Triton, torch and compilers write goes beneath `folder`, for good."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    tempfile.tempdir = str(temporary)
    os.environ |= {
        "TMPDIR": str(temporary),
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(temporary),
        "TRITON_HOME": str(temporary),
        "TRITON_CACHE_DIR": str(folder / "compiled"),
        **FOR_PROGRAMS,
    }


def _result(request: CaptureRequest, name: str, ended: Ended, place: Workplace) -> CaptureResult:
    """What a fork left; it is read as data that anybody may have written."""
    where = "" if name == "0" else f"shape `{request.label}`: "
    if ended.timed_out:
        message = f"{where}the candidate's Python did not end within {place.limit_s:g} s"
        raise CaptureFailed(BuildOutcome(message=message, timed_out=True))
    try:
        left = read_left(place.folder / f"{name}.json", MAX_RESULT_BYTES)
        result = CaptureResult.model_validate_json(left)
    except (ValueError, ValidationError) as error:
        raise CaptureFailed(BuildOutcome(message=where + _lost(name, ended, place))) from error
    if result.plan is None or result.refusal:
        words = result.refusal or "the capture gave no plan"
        message = where + words.replace(f"{place.folder}/", "")
        rejected, others = result.kind == "refused", ()
        if result.kind == "does_not_fit":
            others = result.configurations
        outcome = BuildOutcome(message=message, rejected=rejected, configurations=others)
        raise CaptureFailed(outcome)
    return result


def _lost(name: str, ended: Ended, place: Workplace) -> str:
    log = (place.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")
    said = log.strip().replace(f"{place.folder}/", "")[-LOG_CHARACTERS:]
    return f"the candidate's Python ended without a result: {ended.words}\n{said}".strip()
