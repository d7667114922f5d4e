"""`kernelwright broker`: how the process that works for a project stands, and its end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from ..options.paths import folder_there

app = typer.Typer(
    help="The process that works for all clients of a project; `serve` starts it on demand.",
    no_args_is_help=True,
)
END_S: Final = 30.0
Outdir = Annotated[
    Path | None,
    typer.Option(
        callback=folder_there, help="Folder of the state; default .kernelwright in this folder."
    ),
]


@app.command()
def status(outdir: Outdir = None) -> None:
    """Say whether it runs, for how long, and what is under way. Exit status: 0 it runs, 1 not."""
    from .remote_desk import asked_of_broker

    told = asked_of_broker(_state(outdir), "status")
    if told is None:
        print("no broker runs here; the first call of a client starts one")
        raise typer.Exit(1)
    print(
        f"broker {told['pid']}, for {told['seconds']:.0f} s, version {told['identity']['version']}"
    )
    print(f"calls under way: {told['calls']}, jobs unfinished: {told['jobs']}")
    print(f"roots: {', '.join(told['identity']['roots'])}")
    if told["identity"]["gpus"]:
        print(f"GPUs: {', '.join(told['identity']['gpus'])}")


@app.command()
def stop(outdir: Outdir = None) -> None:
    """End it, and wait until it has ended. Jobs that are unfinished wait for the next one. Exit
    status: 0, also if none ran; 1 where it goes on for long."""
    import psutil

    from .remote_desk import asked_of_broker

    standing = asked_of_broker(_state(outdir), "status")
    lives = list[psutil.Process]()
    if standing is not None:
        with suppress(psutil.NoSuchProcess):  # it has ended by now
            lives.append(psutil.Process(standing["pid"]))
    told = asked_of_broker(_state(outdir), "stop")
    if told is None:
        print("no broker runs here")
        return
    for process in psutil.wait_procs(lives, END_S)[1]:
        print(f"process {process.pid} was told to end and has not in {END_S:.0f} s; end it by kill")
        raise typer.Exit(1)
    print(f"it has ended; unfinished jobs, which the next one goes on with: {told['jobs']}")


def _state(outdir: Path | None) -> Path:
    return outdir or Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()) / ".kernelwright"
