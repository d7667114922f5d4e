"""GPUs as a command line names them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class BusyGpuChoice(StrEnum):
    """The setting `busy_gpu`, as a command line writes it."""

    go_on = "go-on"
    wait = "wait"
    refuse = "refuse"


GpuNames = Annotated[
    str,
    typer.Option(
        help="GPUs to use, by index or UUID: 0,1 or all; those of one model then work on one "
        "kernel together. Default: all of this machine, one a kernel."
    ),
]

BusyGpus = Annotated[
    BusyGpuChoice,
    typer.Option(
        "--busy-gpu",
        help="Where others compute on the GPU of a kernel, who are named: go on, wait until they "
        "have ended, or refuse it.",
    ),
]


def gpu_names(gpus: str) -> tuple[str, ...]:
    """`0,1` as names; nothing where nothing was given."""
    return tuple(name.strip() for name in gpus.split(",") if name.strip())
