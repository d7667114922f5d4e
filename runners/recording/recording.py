"""A program run and recorded: once to count and time its launches, once more to keep some.

A recording's folder holds `program.json` (what was run, how it ended), `count/` and `kept/` with a
folder for each process, and what the program printed. It is for its owner alone: it holds his data.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import AccessError, KernelwrightError
from ..whole_files import write_whole
from .fronts import Asked, Front, Request, choose_front, environment_for
from .library import built_libraries
from .reading import problems_of, read_recordings
from .recorded import Recording
from .running import Ran, run_program

PROGRAM, COUNT, KEPT = "program.json", "count", "kept"
ANOTHER = "name another folder for the recording (`recording` of record_program, --outdir)"
LAST_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Program:
    """A command line, the folder that it runs in, and how long it may."""

    command: tuple[str, ...]
    folder: Path
    timeout_s: float | None = None
    echo: bool = False
    """pass on what it prints, as it comes"""
    stdin: Path | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, and how the program ended that it is of."""

    recording: Recording
    ran: Ran
    others: int
    """processes that launched kernels as well"""


def record_program(
    program: Program, outdir: Path, asked: Asked, front: Front | None = None
) -> Recorded:
    """Run a program and count its launches. Replaces an earlier recording of the folder.

    Raises KernelwrightError, in a sentence, where nothing could be recorded; a program that fails
    is recorded all the same, up to where it failed.
    """
    start_recording(outdir, program)
    libraries = built_libraries()
    chosen = choose_front(libraries, front)
    environment = environment_for(chosen, outdir / COUNT, asked, libraries=libraries)
    ran = _run(program, outdir, COUNT, environment)
    note(outdir, program, front=chosen, ran=ran)
    return _read(outdir / COUNT, ran)


def keep_launches(
    program: Program, outdir: Path, requests: Sequence[Request], asked: Asked, front: Front | None
) -> Recorded:
    """Run the program again, and keep the launches that `requests` name. As `record_program`."""
    shutil.rmtree(outdir / KEPT, ignore_errors=True)
    libraries = built_libraries()
    environment = environment_for(
        choose_front(libraries, front),
        outdir / KEPT,
        replace(asked, exact_sizes=True, times=False),
        requests,
        libraries=libraries,
    )
    return _read(outdir / KEPT, _run(program, outdir, KEPT, environment))


def start_recording(outdir: Path, program: Program) -> None:
    """An empty folder for a recording, for its owner alone. Raises AccessError for a file, or a
    folder that holds something else."""
    try:
        delete_recording(outdir)
        outdir.mkdir(parents=True, exist_ok=True, mode=0o700)
        outdir.chmod(0o700)
        note(outdir, program)
    except OSError as error:
        raise AccessError(
            f"{outdir} cannot be written: {error.strerror}", next_step=ANOTHER
        ) from error


def delete_recording(outdir: Path) -> int:
    """Remove a recording with all that it keeps; what is no recording stays. Bytes that it held.

    Raises AccessError for a file, and for a folder that is no recording.
    """
    if not outdir.exists():
        return 0
    empty = outdir.is_dir() and not any(outdir.iterdir())
    if not (empty or (outdir / PROGRAM).is_file()):
        raise AccessError(
            f"{outdir} is there, and no recording",
            valid="a folder of a recording, an empty one, or one that is not there yet",
            next_step=ANOTHER,
        )
    held = sum(f.stat().st_size for f in outdir.rglob("*") if f.is_file() and not f.is_symlink())
    shutil.rmtree(outdir)
    return held


def recorded_program(outdir: Path) -> dict[str, Any]:
    """What was run: `command`, `folder`, `front`, `ending`. Raises AccessError."""
    try:
        return json.loads((outdir / PROGRAM).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise AccessError(
            f"{outdir} is no recording", valid="a folder that `kernelwright record` made"
        ) from error


def program_again(outdir: Path, timeout_s: float | None = None) -> Program:
    """The program of a recording, to be run once more. Raises AccessError."""
    told = recorded_program(outdir)
    return Program(tuple(told["command"]), Path(told["folder"]), timeout_s=timeout_s)


def busiest(folder: Path) -> Recording:
    """The process of a recording that launched most. Raises AccessError where none did."""
    found = read_recordings(folder)
    if not found:
        raise AccessError(
            f"{folder} holds no launches",
            next_step="record the program (again); to open one of its kernels, with keep (--keep)",
        )
    return found[0]


def _run(program: Program, outdir: Path, what: str, environment: dict[str, str]) -> Ran:
    return run_program(
        program.command,
        folder=program.folder,
        scratch=outdir / f"{what}-output",
        environment=environment,
        timeout_s=program.timeout_s,
        echo=program.echo,
        stdin=program.stdin,
    )


def _read(folder: Path, ran: Ran) -> Recorded:
    found = read_recordings(folder)
    if found:
        return Recorded(found[0], ran, len(found) - 1)
    problems = problems_of(folder)
    raise KernelwrightError(_why_nothing(problems, ran, folder), next_step=_then(problems, ran))


def _why_nothing(problems: dict[str, str], ran: Ran, folder: Path) -> str:
    if problems:
        return "nothing was recorded: " + "; ".join(problems.values())
    ending = f"the program ended with {ran.ending}"
    if ran.failed:
        return (
            f"nothing was recorded: {ending}\n{(ran.stderr or ran.stdout)[-LAST_CHARS:]}".rstrip()
        )
    if any(folder.glob("*/summary.json")):
        return f"{ending} and launched no kernel"
    return f"{ending} and never used the GPU: the driver loaded nothing of ours"


def _then(problems: dict[str, str], ran: Ran) -> str:
    if "profiler" in problems:
        return "end the other profiler, or take it out of the program (torch.profiler, nsys, ncu)"
    if "cupti" in problems:
        return "install the CUDA toolkit's CUPTI, or record with --front shim"
    if ran.failed:
        return "run the program by itself until it works"
    return (
        "look whether it is this command that starts the work, and whether it finds the GPU; what "
        "runs on the CPU is recorded where PyTorch calls it (--front torch), or begins with a "
        "function of its source (kernelwright spec --infer FILE --kernel NAME)"
    )


def note(outdir: Path, program: Program, front: str | None = None, ran: Ran | None = None) -> None:
    """Say in its folder what was run, and how that ended."""
    told = {
        "command": list(program.command),
        "folder": str(program.folder),
        "front": front,
        "ran": None if ran is None else {k: v for k, v in asdict(ran).items() if "std" not in k},
        "user": os.getuid(),
    }
    write_whole(outdir / PROGRAM, json.dumps(told, indent=2) + "\n")
