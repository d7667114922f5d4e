"""From what somebody asks about a PyTorch module to the job of its process, and to the report."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ....runners.errors import DeviceMissing, SpecError
from ....runners.modules.common.messages import ModuleJob, ModuleSource, Precision

if TYPE_CHECKING:
    from ....analysis.modules.report import ModuleReport
    from ....runners.modules.running import Found

ANALYSIS = ("eager", "trace", "roofs", "own_shapes", "attention", "breaks", "batches")
LADDER = "ladder"
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS: tuple[Precision, ...] = ("tf32", "bf16")
TIMEOUT_S = 1800.0
"""of one process"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What somebody wants to know."""

    path: Path
    name: str = ""
    init: dict[str, Any] = field(default_factory=dict[str, Any])
    inputs: tuple[str, ...] = ()
    device: str = "auto"
    allow: tuple[Precision, ...] = ()
    rungs: tuple[tuple[str, ...], ...] = ()
    batches: tuple[int, ...] = ()
    phases: tuple[str, ...] = ANALYSIS
    threads: int | None = None
    budget_s: float = 600.0
    seed: int = 42


def precisions(text: str) -> tuple[Precision, ...]:
    """`tf32,bf16` as a tuple. Raises SpecError for another word."""
    found = list[Precision]()
    for word in (part.strip() for part in text.split(",") if part.strip()):
        known: Precision | None = next((each for each in PRECISIONS if each == word), None)
        if known is None:
            raise SpecError(f"{word!r} is no precision", valid=", ".join(PRECISIONS))
        found.append(known)
    return tuple(dict.fromkeys(found))


def rungs_named(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """`compile`, `bf16+compile+graphs` as steps in their order. Raises SpecError for others."""
    from ....runners.modules.ladder.planning import ordered
    from ....runners.modules.steps import BY_NAME

    rungs = list[tuple[str, ...]]()
    for name in names:
        steps = [part for part in name.split("+") if part and part != "eager"]
        unknown = [step for step in steps if step not in BY_NAME]
        if unknown:
            raise SpecError(
                f"{unknown[0]!r} is no step of a ladder",
                valid=f"steps joined by +: {', '.join(BY_NAME)}",
            )
        rungs.append(ordered(steps))
    return tuple(dict.fromkeys(rungs))


def run_asked(asked: Asked, gpus: Sequence[str] = ()) -> Found:
    """Run the module's process; every file of it is gone when this returns.

    Raises SpecError, DeviceMissing, ToolchainMissing, ProcessLost, Cancelled.
    """
    from ....runners.modules.running import require_torch, run_job

    require_torch()
    folder = Path(tempfile.mkdtemp(prefix="kernelwright-module-"))
    try:
        uuid = gpu_uuid(asked.device, gpus, folder)
        job = _job(asked, "cpu" if uuid is None else "cuda", folder)
        return run_job(job, uuid=uuid, timeout_s=TIMEOUT_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report_on(asked: Asked, gpus: Sequence[str] = ()) -> ModuleReport:
    """`run_asked`, and what its lines say."""
    from ....analysis.modules.report import report_of

    return report_of(run_asked(asked, gpus))


def gpu_uuid(device: str, gpus: Sequence[str], scratch: Path) -> str | None:
    """The UUID of the GPU to run on; None: the CPU. Raises DeviceMissing, SpecError."""
    from ....evaluation.rig.gpus import Gpus

    if device not in DEVICES:
        raise SpecError(f"{device!r} is no device", valid=", ".join(DEVICES))
    if device == "cpu":
        return None
    here = Gpus(scratch, gpus).present()
    if here:
        return here[0].uuid
    if device != "auto":
        raise DeviceMissing(
            "no GPU is here", next_step="leave --device out, or run it where one is"
        )
    return None


def _job(asked: Asked, device: Literal["cpu", "cuda"], folder: Path) -> ModuleJob:
    path = asked.path.resolve()
    source = ModuleSource(path=str(path), name=asked.name, init=asked.init, inputs=asked.inputs)
    return ModuleJob(
        source=source,
        device=device,
        phases=asked.phases,
        rungs=asked.rungs,
        allow=asked.allow,
        batches=asked.batches,
        threads=asked.threads,
        seed=asked.seed,
        budget_s=asked.budget_s,
        scratch=str(folder),
        readable=(str(path.parent),),
    )
