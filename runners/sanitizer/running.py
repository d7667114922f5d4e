"""compute-sanitizer: accesses out of bounds, uninitialised memory, races and wrong barriers.

Each of its tools is a gate. The variant runs in a small process (`device/sanitized.py`) that the
tool watches, on small shapes, since it takes 10 to 100 times as long. Everything that a tool finds
in a kernel fails its gate; what it says of itself, or what is not understood, is a note and never
taken for clean.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..model import GateResult
from ..plans.plan import LaunchPlan
from ..specs.devices import DeviceFacts
from ..watched.messages import ANSWER, JOB
from ..watched.running import Subject, watch, write_job
from .judging import FOUND, Tool, judged, result_of
from .messages import SanitizerAnswer
from .report import MAX_BYTES, MAX_RECORDS

__all__ = [
    "TOOLS",
    "is_small",
    "program",
    "sanitize",
]

TOOLS: tuple[Tool, ...] = ("memcheck", "initcheck", "racecheck", "synccheck")
"""in the order of suspicion: what reads out of bounds reads uninitialised memory as well"""
PROGRAM = "compute-sanitizer"
INSTALL = "it comes with the CUDA toolkit, and with `pip install nvidia-cuda-sanitizer-api`"
PADDING = 32
"""bytes that no buffer owns behind each; with 32 an overrun by one was found on an H100"""
TIMEOUT_S = 60.0
"""for each tool; they run side by side"""
CONNECT_S = 30
ONLY: Mapping[Tool, tuple[str, ...]] = {
    # calls of our own that a driver refuses (limits that it does not know) are no findings
    "memcheck": ("--padding", str(PADDING), "--report-api-errors", "no"),
    "racecheck": ("--racecheck-report", "analysis"),
}
"""options of one tool alone"""
MAX_THREADS, MAX_BUFFER_BYTES = 1 << 22, 64 << 20
MAX_LOG = 64 << 10


def is_small(plan: LaunchPlan) -> bool:
    """Whether a plan is small enough to be watched in a few seconds."""
    threads = {kernel.id: math.prod(kernel.block) for kernel in plan.kernels}
    work = sum(math.prod(step.grid) * threads[step.launch] for step in plan.launches)
    return work <= MAX_THREADS and sum(b.nbytes for b in plan.buffers) <= MAX_BUFFER_BYTES


@cache
def program() -> Path | None:
    """The compute-sanitizer of this machine, None where there is none."""
    return next((path for path in _places() if os.access(path, os.X_OK) and path.is_file()), None)


def _places() -> Iterator[Path]:
    if found := shutil.which(PROGRAM):
        yield Path(found)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield Path(root) / "bin" / PROGRAM
    for root in (Path("/usr/local/cuda"), Path("/opt/cuda")):
        yield root / "bin" / PROGRAM
        yield root / PROGRAM / PROGRAM
    for place in filter(None, sys.path):
        for wheel in sorted(Path(place).glob("nvidia/cu*")):
            yield wheel / "bin" / PROGRAM
            yield wheel / PROGRAM / PROGRAM


def sanitize(
    subjects: Sequence[Subject],
    modules: Mapping[str, Path],
    device: DeviceFacts,
    scratch: Path,
    timeout_s: float = TIMEOUT_S,
) -> tuple[GateResult, ...]:
    """One result a tool, in the order of TOOLS. All run at once: most of what one takes is its
    start.

    `modules`: the files of the artifact by hash. `scratch`: a folder of its own, which is removed.
    The caller holds the device: no other work is timed on it meanwhile. Nothing raises: a missing
    program, a refusing host or an endless run is a result with its reason.
    """
    tool = program()
    if tool is None or not subjects:
        why = f"no {PROGRAM} here: {INSTALL}" if tool is None else "no shape is small enough"
        return tuple(result_of(name, "skipped", why) for name in TOOLS)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        write_job(subjects, modules, scratch, timeout_s)

        def run(name: Tool) -> GateResult:
            return _run(tool, name, len(subjects), device, scratch, timeout_s)

        with ThreadPoolExecutor(len(TOOLS)) as pool:
            return tuple(pool.map(run, TOOLS))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(
    tool: Path, name: Tool, shapes: int, device: DeviceFacts, scratch: Path, timeout_s: float
) -> GateResult:
    folder = scratch / name
    folder.mkdir()
    (folder / JOB).symlink_to((scratch / JOB).resolve())  # its answer is written beside it
    ended = watch(_command(tool, name, folder), name, device, folder, timeout_s)
    ended = replace(ended, log=_text(folder / "log") + ended.log)
    return judged(name, ended, _content(folder / "xml"), _answer(folder / ANSWER), shapes)


def _command(tool: Path, name: Tool, folder: Path) -> list[str | Path]:
    return [
        tool,
        "--tool", name,
        *ONLY.get(name, ()),
        "--error-exitcode", str(FOUND),
        "--xml", "--save", folder / "xml",
        "--log-file", folder / "log",
        "--print-limit", str(MAX_RECORDS),
        "--launch-timeout", str(CONNECT_S),
        "--show-backtrace", "device",
        sys.executable, "-P", "-m", "kernelwright.runners.device.sanitized",
        folder / JOB,
    ]  # fmt: skip


def _text(path: Path) -> str:
    """The beginning of what the tool printed; kernels print elsewhere."""
    content = _content(path)
    return "" if content is None else content[:MAX_LOG].decode("utf-8", "replace")


def _content(path: Path) -> bytes | None:
    """None: there is no report, which some versions do not write when nothing was found."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError:
        return None


def _answer(path: Path) -> SanitizerAnswer | None:
    try:
        return SanitizerAnswer.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None
