"""What a problem's own process is asked: its graph, and the score of ModelNews."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ....runners.errors import KernelwrightError
from ....runners.modules.common.messages import ModuleJob, ModuleSource, PhaseFailed
from ....runners.modules.common.scores import Scored
from ....runners.modules.running import Found, run_job
from .problem import Problem

TIMEOUT_S = 1800.0


def scored(problem: Problem, uuid: str | None, rivals: Sequence[Path], *, compiled: bool) -> Scored:
    """The score of ModelNews beside the Model. Raises KernelwrightError where there is none."""
    found = asked(problem, uuid, ("score",), rivals, (("compile",),) if compiled else ())
    told = found.one(Scored)
    if told is None:
        failed = found.one(PhaseFailed)
        why = failed.words if failed else " ".join(found.lost) or "no score was told"
        raise KernelwrightError(f"the ModelNew cannot be scored: {why}")
    return told


def asked(
    problem: Problem,
    uuid: str | None,
    phases: tuple[str, ...],
    rivals: Sequence[Path] = (),
    rungs: tuple[tuple[str, ...], ...] = (),
) -> Found:
    """What the process of a module says, its files gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="kernelwright-module-"))
    path = problem.path.resolve()
    try:
        job = ModuleJob(
            source=ModuleSource(path=str(path)),
            device="cpu" if uuid is None else "cuda",
            phases=phases,
            training=True,
            rungs=rungs,
            rivals=tuple(str(each.resolve()) for each in rivals),
            scratch=str(folder),
            readable=(str(path.parent), *(str(each.resolve()) for each in rivals)),
        )
        return run_job(job, uuid=uuid, timeout_s=TIMEOUT_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
