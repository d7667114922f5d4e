"""Running a tool of NVIDIA's (compute-sanitizer, ncu) over a variant: a limited child, which starts
the process that it watches."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..plans.plan import LaunchPlan
from ..processes.locks import gpu_registry
from ..processes.process import Limits, clean_environment, spawner
from ..protocol.layout import record
from ..protocol.messages import Pool
from ..specs.devices import DeviceFacts
from .ended import Ended
from .messages import JOB, Watched, WatchedJob

GRACE_S = 5.0
MAX_FILE_BYTES = 64 << 30


@dataclass(frozen=True)
class Subject:
    """One shape of a variant to be watched: its plan, and the values of one seed.

    `inputs`: the bytes of every input and inout in the contract's order, nothing between them.
    """

    pool: Pool
    plan: LaunchPlan
    inputs: bytes


def subject_of(pool: Pool, fd: int, plan: LaunchPlan, slot: int = 0) -> Subject:
    """A plan on one seed of a pool, whose values lie in `fd` as a runner gets them."""
    layout = record(pool.bound().inputs)
    base = slot * layout.nbytes
    parts = (os.pread(fd, place.nbytes, base + place.offset) for place in layout.slots)
    return Subject(pool, plan, b"".join(parts))


def tool_version(tool: Path) -> str:
    """`2025.3.1.0`, as the tool prints it; empty for one that does not start."""
    try:
        done = subprocess.run(
            [tool, "--version"], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    words = done.stdout.split()
    return words[words.index("Version") + 1] if "Version" in words[:-1] else ""


def write_job(
    subjects: Sequence[Subject], modules: Mapping[str, Path], scratch: Path, timeout_s: float
) -> None:
    """The job that the watched process finds in `scratch`. `modules`: files by hash."""
    shapes = list[Watched]()
    for number, subject in enumerate(subjects):
        inputs = scratch / f"inputs.{number}"
        inputs.write_bytes(subject.inputs)
        shapes.append(Watched(pool=subject.pool, plan=subject.plan, inputs=str(inputs)))
    job = WatchedJob(
        modules={sha256: str(path) for sha256, path in modules.items()},
        shapes=tuple(shapes),
        registry=str(gpu_registry()),
        wall_s=timeout_s + GRACE_S,
    )
    (scratch / JOB).write_text(job.model_dump_json(), encoding="utf-8")


def watch(
    command: Sequence[str | Path], name: str, device: DeviceFacts, scratch: Path, timeout_s: float
) -> Ended:
    """Run the tool on one GPU until it ends, or is ended."""
    settings = {
        "CUDA_VISIBLE_DEVICES": str(device.uuid),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_MODULE_LOADING": "EAGER",
        "OPENBLAS_NUM_THREADS": "1",
    }
    # CUDA does not start beneath a supervisor in a PID namespace: a plain child
    child = spawner().start(
        command,
        name=name,
        scratch=scratch,
        environment=clean_environment(scratch, settings),
        limits=Limits(wall_s=timeout_s, file_bytes=MAX_FILE_BYTES),
    )
    with child:
        returncode = child.wait()
        while returncode is None:
            returncode = child.wait()
        said = child.stdout_text() + child.stderr_text()
        return Ended(returncode, child.timed_out, child.describe_end(), said)
