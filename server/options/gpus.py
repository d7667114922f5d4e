"""GPUs as a command line names them."""

from __future__ import annotations

from typing import Annotated

import typer

GpuNames = Annotated[
    str,
    typer.Option(
        help="GPUs to use, by index or UUID: 0,1 or all; those of one model then work on one "
        "kernel together. Default: all of this machine, one a kernel."
    ),
]


def gpu_names(gpus: str) -> tuple[str, ...]:
    """`0,1` as names; nothing where nothing was given."""
    return tuple(name.strip() for name in gpus.split(",") if name.strip())
