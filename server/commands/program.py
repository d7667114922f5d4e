"""`kernelwright program ...`: what is done with a recording: look, keep, replay, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import folder_there
from .record import MIB, kept_text, program_of

app = typer.Typer(help="Look at a recorded program, keep and replay its launches, delete it.")

Recorded = Annotated[Path, typer.Argument(help="The --outdir of `record`.")]
Timeout = Annotated[
    float | None, typer.Option(min=1, help="Seconds after which the program is ended.")
]


@app.command()
def report(
    recording: Recorded,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Kernels by their share of the GPU's time, and what a faster one could gain."""
    from ...analysis.programs.report import report_text
    from ...tools.parts.programs import report_of

    found = report_of(recording)
    print(found.model_dump_json(indent=2) if as_json else report_text(found))


@app.command()
def keep(
    recording: Recorded,
    only: Annotated[
        list[str] | None, typer.Option(help="A label of the report; repeatable.")
    ] = None,
    most_mib: Annotated[int, typer.Option(min=1, help="MiB of all of them together.")] = 8192,
    most_launch_mib: Annotated[int, typer.Option(min=1, help="MiB that one may reach.")] = 1024,
    operators: Annotated[bool, typer.Option(help="Number PyTorch's operators.")] = False,
    timeout: Timeout = None,
) -> None:
    """Run the program again and keep launches with all that they read and write."""
    from ...runners.recording.fronts import Asked
    from ...tools.parts.programs import keep_representative

    asked = Asked(
        most_launch_bytes=most_launch_mib * MIB, most_bytes=most_mib * MIB, operators=operators
    )
    place = recording.absolute()
    print(kept_text(keep_representative(program_of(place, timeout), place, asked, only or ())))


@app.command()
def replay(
    recording: Recorded,
    roles: Annotated[bool, typer.Option(help="Find what each buffer is to its launch.")] = False,
    runs: Annotated[int, typer.Option(min=0, max=1000, help="Timed runs of each.")] = 0,
) -> None:
    """Run kept launches outside the program, and say whether they leave the same bits.

    Exit status: 0 all are equal, 1 otherwise.
    """
    from ...tools.parts.programs import replay_text, replayed

    found = replayed(recording.absolute(), roles=roles, runs=runs)
    print(replay_text(found))
    raise typer.Exit(0 if found and all(each.equal for each in found) else 1)


@app.command()
def delete(recording: Annotated[Path, typer.Argument(callback=folder_there)]) -> None:
    """Remove a recording with all the data that it holds."""
    from ...runners.recording.recording import delete_recording

    print(f"removed {delete_recording(recording.absolute()) / MIB:.1f} MiB")
