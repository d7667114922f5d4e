"""ncu over one run of a variant's launch plan: every launch of it, warm, clocks as they are.

The variant runs in a small process (`device/profiled.py`) that ncu starts and watches. Caches are
flushed before each pass (`--cache-control all`), as comparisons flush them before each run; later
launches of a plan therefore find caches colder than beside each other. Durations are shares of the
run and never ranked by: a profiled launch is not a timed one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ..errors import ProfileFailed, ToolchainMissing
from ..specs.devices import DeviceFacts
from ..watched.messages import ANSWER, JOB
from ..watched.running import Subject, watch, write_job
from .judging import failure
from .messages import ProfileAnswer
from .model import Profile
from .readers import PROGRAM, program
from .reading import read_profile
from .wanted import SECTIONS

INSTALL = (
    "install Nsight Compute (it comes with the CUDA toolkit), or import a report made elsewhere"
)
TIMEOUT_S = 180.0
"""16 s for everything about one matmul on an H100, of which 6 s are no profiling at all"""
SUFFIX = ".ncu-rep"


def profile(
    subject: Subject,
    modules: Mapping[str, Path],
    device: DeviceFacts,
    report: Path,
    *,
    full: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Profile:
    """Every launch of one run, in order; the report is kept as `report` (a .ncu-rep file), also
    when it cannot be read here.

    `modules`: the files of the artifact by hash. The caller holds the device: no other work is
    timed on it meanwhile. Raises ToolchainMissing without ncu or a reader of reports, and
    ProfileFailed for a variant that does not run, for counters that may not be read, for a run that
    takes too long and for one of which not every launch was profiled.
    """
    tool = program()
    if tool is None:
        raise ToolchainMissing(f"no {PROGRAM} here", next_step=INSTALL)
    scratch = report.with_suffix(".scratch")
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        write_job([subject], modules, scratch, timeout_s)
        _run(tool, device, scratch, full, timeout_s).replace(report)
        plan = subject.plan
        profiled = read_profile(report, scratch, {kernel.entry for kernel in plan.kernels})
        launched = len(plan.launches)
        if len(profiled.launches) != launched:
            raise ProfileFailed(
                f"of {launched} launches of the plan ncu profiled {len(profiled.launches)}",
                next_step="ask again; if it stays so, profile by hand and import the report",
            )
        return profiled
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(tool: Path, device: DeviceFacts, scratch: Path, full: bool, timeout_s: float) -> Path:
    """The report that ncu made. Raises ProfileFailed."""
    ended = watch(command(tool, scratch, full), PROGRAM, device, scratch, timeout_s)
    made, answer = (scratch / "report").with_suffix(SUFFIX), _answer(scratch / ANSWER)
    # its exit status says little: it can be 0 when no launch was profiled
    if ended.timed_out or answer is None or not answer.finished or not made.exists():
        raise failure(ended, answer)
    return made


def command(tool: Path, scratch: Path, full: bool) -> list[str | Path]:
    """What is executed, for a job in `scratch`."""
    sections = ["--set", "full"] if full else [w for s in SECTIONS for w in ("--section", s)]
    return [
        tool,
        *sections,
        "--target-processes", "all",
        "--profile-from-start", "off",
        "--replay-mode", "kernel",
        "--clock-control", "none",
        "--cache-control", "all",
        "--import-source", "yes",
        "--force-overwrite",
        "--export", scratch / "report",
        sys.executable, "-P", "-m", "kernelwright.runners.device.profiled",
        scratch / JOB,
    ]  # fmt: skip


def _answer(path: Path) -> ProfileAnswer | None:
    try:
        return ProfileAnswer.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None
