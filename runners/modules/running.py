"""A module run in a limited child: the job goes in as a file, lines come back while it works.

Untrusted code runs in the child. It has a folder of its own, and what it writes there is read as
text that may be wrong; when a step takes the process down with it, the rest is asked of a new one.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from ..errors import ProcessLost, SpecError, ToolchainMissing
from ..processes.child import Child
from ..processes.locks import lock_folder
from ..processes.process import Limits, clean_environment, spawner
from ..progress import report, stop_if_cancelled
from .common.messages import (
    JOB,
    RESULTS,
    Line,
    ModuleJob,
    PhaseFailed,
    Planned,
    Progress,
    RungMade,
    RungTimes,
    SubjectFacts,
)

MODULE = "kernelwright.runners.modules.process"
LOOK_S = 0.2
MOST_BYTES = 256 << 20
"""of results: a call of some hundred thousand operators"""
MAX_FILE_BYTES = 16 << 30
MOST_RESTARTS = 4
LINES: TypeAdapter[Line] = TypeAdapter(Line)
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Found:
    """What a job came to: every line that the child wrote, and what became of the child."""

    lines: tuple[Line, ...]
    lost: tuple[str, ...] = ()
    """how children ended that ended too early"""

    def one(self, kind: type[R]) -> R | None:
        """The last line of a kind."""
        return next((line for line in reversed(self.lines) if isinstance(line, kind)), None)

    def all(self, kind: type[R]) -> tuple[R, ...]:
        """Every line of a kind."""
        return tuple(line for line in self.lines if isinstance(line, kind))


def require_torch() -> None:
    """Raises ToolchainMissing where torch is not installed; it is not imported here."""
    if importlib.util.find_spec("torch") is None:
        raise ToolchainMissing(
            "a module needs torch", next_step='pip install "kernelwright[torch]"'
        )


def run_job(job: ModuleJob, *, uuid: str | None, timeout_s: float) -> Found:
    """Do a job in a child; in a further one what a rung's crash left undone.

    `uuid`: of the GPU. Raises SpecError for a module that cannot be made, ProcessLost for a child
    that ended before it had made one.
    """
    require_torch()
    lines, lost, left = list[Line](), list[str](), job
    for attempt in range(MOST_RESTARTS):
        found, ended = _one_child(left, uuid, timeout_s, attempt)
        lines += found
        if ended is None:
            break
        lost.append(ended)
        crashed = _under_way(found)
        if crashed is None or not left.phases:
            break
        lines.append(crashed)
        left = _without(left, found, crashed)
    _require_subject(lines, lost)
    return Found(tuple(line for line in lines if not isinstance(line, Progress)), tuple(lost))


def _one_child(
    job: ModuleJob, uuid: str | None, timeout_s: float, number: int
) -> tuple[list[Line], str | None]:
    """The lines of one child, and how it ended if not by itself."""
    scratch = Path(job.scratch) / str(number)
    scratch.mkdir(parents=True)
    own = job.model_copy(update={"scratch": str(scratch)})
    (scratch / JOB).write_text(own.model_dump_json(), encoding="utf-8")
    lock = lock_folder() / f"{uuid or 'host'}.lock"
    # CUDA does not start beneath a supervisor in a PID namespace: a plain child
    child = spawner().start(
        [sys.executable, "-P", "-m", MODULE, str(lock)],
        name="module",
        scratch=scratch,
        environment=clean_environment(scratch, _variables(scratch, uuid)),
        limits=Limits(wall_s=timeout_s, file_bytes=MAX_FILE_BYTES),
    )
    with child:
        returncode = _watched(child, scratch / RESULTS)
        lines = _read(scratch / RESULTS)
        if returncode == 0:
            return lines, None
        last = child.stderr_text(2000).strip().splitlines()[-3:]
        return lines, f"{child.describe_end()}{': ' if last else ''}{' '.join(last)}"


def _variables(scratch: Path, uuid: str | None) -> dict[str, str]:
    return {
        "CUDA_VISIBLE_DEVICES": uuid or "",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # its pool of workers fails in the confined process
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "XDG_CACHE_HOME": str(scratch),
        "HOME": str(scratch),
    }


def _watched(child: Child, results: Path) -> int:
    """Wait for its end, and say meanwhile what it is at. Raises Cancelled."""
    told, at = "", 0
    while (returncode := child.wait(LOOK_S)) is None:
        stop_if_cancelled()
        size = results.stat().st_size if results.is_file() else 0
        if size != at:
            at = size
            words = [line.word for line in _read(results) if isinstance(line, Progress)]
            word = words[-1] if words else ""
            if word and word != told:
                told = word
                report(word)
    return returncode


def _read(results: Path) -> list[Line]:
    """Whole lines that are what they should be; the rest was not written by our code."""
    if not results.is_file() or results.is_symlink():
        return []
    with results.open("rb") as file:
        content = file.read(MOST_BYTES)
    lines = list[Line]()
    for each in content.split(b"\n")[:-1]:
        try:
            lines.append(LINES.validate_json(each))
        except ValidationError:
            continue
    return lines


def _under_way(lines: Sequence[Line]) -> RungMade | PhaseFailed | None:
    """What a child was at when it ended, as a failure of that; None before its module was made."""
    words = [line.word for line in lines if isinstance(line, Progress)]
    if not words or not any(isinstance(line, SubjectFacts) for line in lines):
        return None
    told = "it took the process down with it"
    if words[-1].startswith("rung "):
        name = words[-1].removeprefix("rung ")
        return RungMade(steps=() if name == "eager" else tuple(name.split("+")), failed=told)
    return PhaseFailed(phase=words[-1], words=told)


def _without(job: ModuleJob, lines: Sequence[Line], crashed: RungMade | PhaseFailed) -> ModuleJob:
    """What is left to do: later phases, and of a ladder the rungs that did not crash."""
    if isinstance(crashed, PhaseFailed):
        names = list(job.phases)
        after = names.index(crashed.phase) + 1 if crashed.phase in names else len(names)
        return job.model_copy(update={"phases": tuple(names[after:])})
    planned = next((line.rungs for line in lines if isinstance(line, Planned)), job.rungs)
    failed = {line.steps for line in lines if isinstance(line, RungMade) and line.failed}
    asked = tuple(r for r in planned if r not in failed and r != crashed.steps)
    return job.model_copy(update={"phases": ("ladder",) if asked else (), "rungs": asked})


def _require_subject(lines: Sequence[Line], lost: Sequence[str]) -> None:
    if any(isinstance(line, SubjectFacts) for line in lines):
        return
    failed = next((line for line in lines if isinstance(line, PhaseFailed)), None)
    if failed is not None:
        raise SpecError(f"the module cannot be made: {failed.words}")
    raise ProcessLost(f"the process of the module ended before it was made: {' '.join(lost)}")


def times_by_rung(found: Found) -> dict[tuple[str, ...], Sequence[float]]:
    """Blocks in milliseconds by rung; empty where no ladder was timed."""
    times = found.one(RungTimes)
    return {} if times is None else dict(zip(times.rungs, times.blocks_ms, strict=True))
