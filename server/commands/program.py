"""`kernelwright program ...`: what is done with a recording: look, keep, replay, change, delete."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import file_there, folder_there
from .record import MIB, kept_text

app = typer.Typer(
    help="Look at a recorded program, replay its launches, put other kernels in, take them out."
)

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
    from ...analysis.programs.operators import operators_text
    from ...analysis.programs.report import report_text
    from ...tools.programs.operators.recording import is_of_operators, operators_again
    from ...tools.programs.recorded import report_of

    if is_of_operators(recording):
        seen = operators_again(recording)
        print(seen.model_dump_json(indent=2) if as_json else operators_text(seen))
        return
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
    from ...runners.recording.recording import program_again
    from ...tools.programs.recorded import keep_representative

    asked = Asked(
        most_launch_bytes=most_launch_mib * MIB, most_bytes=most_mib * MIB, operators=operators
    )
    place = recording.absolute()
    print(kept_text(keep_representative(program_again(place, timeout), place, asked, only or ())))


@app.command()
def replay(
    recording: Recorded,
    roles: Annotated[bool, typer.Option(help="Find what each buffer is to its launch.")] = False,
    runs: Annotated[int, typer.Option(min=0, max=1000, help="Timed runs of each.")] = 0,
) -> None:
    """Run kept launches outside the program, and say whether they leave the same bits.

    Exit status: 0 all are equal, 1 otherwise.
    """
    from ...tools.programs.recorded import replay_text, replayed

    found = replayed(recording.absolute(), roles=roles, runs=runs)
    print(replay_text(found))
    raise typer.Exit(0 if found and all(each.equal for each in found) else 1)


@app.command()
def spec(
    recording: Recorded,
    label: Annotated[str, typer.Argument(help="The label of a kept launch.")],
    to: Annotated[Path, typer.Option(help="A new folder: spec, source and data.")],
    source: Annotated[
        Path | None,
        typer.Option(callback=file_there, help="The .cu that defines it; Triton's is known."),
    ] = None,
    entry: Annotated[str, typer.Option(help="The kernel in it; default: of the same name.")] = "",
    reference: Annotated[
        Path | None,
        typer.Option(callback=file_there, help="The truth in Python; default: the kernel itself."),
    ] = None,
    most_mib: Annotated[int, typer.Option(min=1, help="MiB of recorded arrays beside it.")] = 512,
    alone: Annotated[
        bool, typer.Option("--alone", help="Of an operator: this shape, its sizes constants.")
    ] = False,
) -> None:
    """Write the spec of a recorded kernel: its source, its launch, its data, its sizes by count.

    Of an operator of PyTorch: a plain kernel, with the operator as its reference.
    """
    from ...tools.programs.opening import open_recorded
    from ...tools.programs.operators.opening import open_operator
    from ...tools.programs.operators.recording import is_of_operators

    found = (
        open_operator(recording.absolute(), label, to.absolute(), alone=alone)
        if is_of_operators(recording)
        else open_recorded(
            recording.absolute(),
            label,
            to.absolute(),
            source=source,
            entry=entry,
            reference=reference,
            most_mib=most_mib,
        )
    )
    workloads = ", ".join(found.workloads)
    specs = found.specs
    print("\n".join((*(f"{each}: workloads {workloads}" for each in specs), *found.notes)))
    print(f"next: kernelwright spec --check {specs[0]}")


@app.command()
def delete(recording: Annotated[Path, typer.Argument(callback=folder_there)]) -> None:
    """Remove a recording with all the data that it holds."""
    from ...runners.recording.recording import delete_recording

    print(f"removed {delete_recording(recording.absolute()) / MIB:.1f} MiB")


Label = Annotated[str, typer.Argument(help="A kernel's label in the report.")]
Cubin = Annotated[Path, typer.Option(callback=file_there, help="Machine code to put there.")]
Entry = Annotated[str, typer.Option(help="The kernel in it, which takes the same parameters.")]
Numbers = Annotated[str, typer.Option(metavar="X[,Y[,Z]]", help="Default: the original's.")]
Shared = Annotated[int, typer.Option(help="Dynamic bytes; default: the original's.")]
Metric = Annotated[
    str, typer.Option(help="A regular expression with one group: a number it prints.")
]
Each = Annotated[
    bool, typer.Option("--each", help="It prints the metric again and again: the median counts.")
]
Pairs = Annotated[int, typer.Option(min=2, max=100, help="Runs with it, and as many without.")]


@app.command()
def verify(
    recording: Recorded,
    label: Label,
    cubin: Cubin,
    entry: Entry,
    grid: Numbers = "",
    block: Numbers = "",
    shared: Shared = -1,
    metric: Metric = "",
    higher: Annotated[bool, typer.Option(help="More of the metric is better.")] = False,
    each: Each = False,
    output: Annotated[
        list[str] | None, typer.Option(help="A file that it writes, to be compared; repeatable.")
    ] = None,
    compare: Annotated[
        str, typer.Option(help="A command that is given two folders of outputs; 0: as good.")
    ] = "",
    pairs: Pairs = 6,
    install: Annotated[bool, typer.Option(help="Install it where it is faster.")] = False,
    timeout: Timeout = None,
) -> None:
    """Run the program with and without another kernel, interleaved, and say what that brings.

    Exit status: 0 faster with the same outputs, 2 refused, 1 nothing can be said.
    """
    from ...runners.recording.pairs import Judged
    from ...runners.recording.recording import program_again
    from ...tools.programs.changing import verified
    from ...tools.programs.replacements import replacement_named

    place = recording.absolute()
    judged = Judged(
        metric=metric,
        higher=higher,
        each=each,
        outputs=tuple(output or ()),
        comparator=tuple(shlex.split(compare)),
    )
    new = replacement_named(place, label, cubin, entry, (grid, block, shared))
    found = verified(
        program_again(place, timeout), place, label, new, judged, pairs=pairs, wanted=install
    )
    print("\n".join((found.told, *found.notes)))
    if found.installed:
        print(f"installed; `kernelwright program run {recording}` runs the program with it")
    raise typer.Exit(0 if found.outcome == "faster" else 2)


@app.command()
def shadow(
    recording: Recorded,
    label: Label,
    cubin: Cubin,
    entry: Entry,
    grid: Numbers = "",
    block: Numbers = "",
    shared: Shared = -1,
    launches: Annotated[int, typer.Option(min=1, help="How many run beside each other.")] = 3,
    timeout: Timeout = None,
) -> None:
    """Run another kernel beside the original in the program; the original's results stay."""
    from ...runners.recording.recording import program_again
    from ...tools.programs.changing import shadowed
    from ...tools.programs.replacements import replacement_named

    place = recording.absolute()
    new = replacement_named(place, label, cubin, entry, (grid, block, shared))
    for row in shadowed(program_again(place, timeout), place, label, new, launches):
        print(json.dumps(row))


@app.command()
def run(recording: Recorded) -> None:
    """Run the program with what is installed; its exit status is ours."""
    from ...runners.recording.operators.putting import run_with_operators
    from ...runners.recording.pairs import run_with
    from ...runners.recording.recording import program_again
    from ...runners.recording.running import given_input
    from ...runners.recording.swaps import installed
    from ...tools.programs.operators.recording import is_of_operators

    place = recording.absolute()
    program = replace(program_again(place), echo=True, stdin=given_input())
    if is_of_operators(place):
        raise typer.Exit(run_with_operators(program, place))
    raise typer.Exit(run_with(program, installed(place)[0], place / "run"))


@app.command()
def roll_back(recording: Recorded) -> None:
    """Take out what is installed: the program is as it was."""
    from ...runners.recording.operators.putting import roll_back_operators
    from ...runners.recording.swaps import roll_back as taken_out

    place = recording.absolute()
    print(f"took out {taken_out(place) + roll_back_operators(place)} replacements")


@app.command()
def drift(
    recording: Recorded,
    metric: Metric = "",
    each: Each = False,
    pairs: Pairs = 6,
    timeout: Timeout = None,
) -> None:
    """Measure again what is installed. Exit status: 0 still faster, 2 not."""
    from ...runners.recording.pairs import Judged
    from ...runners.recording.recording import program_again
    from ...tools.programs.changing import drifted
    from ...tools.programs.operators.putting import drifted_operators
    from ...tools.programs.operators.recording import is_of_operators

    place = recording.absolute()
    judged = Judged(metric=metric, each=each)
    measure = drifted_operators if is_of_operators(place) else drifted
    found = measure(program_again(place, timeout), place, judged, pairs=pairs)
    print(found.told)
    raise typer.Exit(0 if found.outcome == "faster" else 2)
