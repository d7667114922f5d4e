"""`kernelwright operator ...`: a winner in the place of an operator of PyTorch, and out again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..options.gpus import GpuNames, gpu_names
from ..options.paths import file_there, folder_there, there
from .modules.options import (
    ClassName,
    Device,
    InitArguments,
    Inputs,
    ModelFile,
    keyword_arguments,
)
from .program import Each, Metric, Pairs, Recorded, Timeout

app = typer.Typer(help="Put a winner in the place of an operator of PyTorch; `program` undoes it.")

Winner = Annotated[
    Path, typer.Argument(callback=folder_there, help="The --to of `operator export`.")
]


@app.command()
def export(
    outdir: Annotated[Path, typer.Argument(callback=there, help="The --outdir of a search.")],
    recording: Recorded,
    labels: Annotated[
        list[str], typer.Argument(help="Labels of one operator in the report, a shape each.")
    ],
    to: Annotated[Path, typer.Option(help="Folder of the winner; files in it are replaced.")],
    variant: Annotated[str, typer.Option(help="Default: the fastest of its kernel.")] = "",
) -> None:
    """Write what runs a variant for the recorded calls of an operator."""
    from ...search.outdir.report import state_file
    from ...search.session.workbench import Workbench
    from ...tools.programs.operators.exporting import export_winner

    state_file(outdir)
    with Workbench(outdir, [Path.cwd()]) as bench:
        chosen = export_winner(bench, recording.absolute(), labels, to.absolute(), variant)
    print(f"written: {to} ({', '.join(chosen)})")
    print(f"next: kernelwright operator verify {recording} {to} --install")


@app.command()
def verify(
    recording: Recorded,
    winner: Winner,
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
    """Run the program with and without the winner, interleaved, and say what that brings.

    Exit status: 0 faster with the same outputs, 2 refused, 1 nothing can be said.
    """
    from ...runners.recording.pairs import Judged
    from ...runners.recording.recording import program_again
    from ...tools.programs.operators.putting import verified_operator

    judged = Judged(
        metric=metric,
        higher=higher,
        each=each,
        outputs=tuple(output or ()),
        comparator=tuple(shlex.split(compare)),
    )
    place = recording.absolute()
    found = verified_operator(
        program_again(place, timeout), place, winner, judged, pairs=pairs, wanted=install
    )
    print("\n".join((found.told, *found.notes)))
    if found.installed:
        print(f"installed; `kernelwright program run {recording}` runs the program with it")
    raise typer.Exit(0 if found.outcome == "faster" else 2)


@app.command()
def source(
    winner: Winner,
    to: Annotated[Path, typer.Option(help="The module to write, such as norm3.py.")],
) -> None:
    """Write a winner as an operator of your own, with gradients, for code that you change."""
    from ...tools.programs.operators.source import write_operator

    written = write_operator(winner, to.absolute())
    print(f"written: {written}, and {written.stem}_kernel beside it")
    print(f"use it: from {written.stem} import {written.stem}")


@app.command()
def patch(
    winner: Winner,
    file: Annotated[Path, typer.Argument(callback=file_there, help="A program's own source.")],
    undo: Annotated[bool, typer.Option("--undo", help="Put the file back as it was.")] = False,
) -> None:
    """Install a winner in a program's source: two lines behind its imports, with a backup."""
    from ...tools.programs.operators.patching import patch_source, undo_patch

    if undo:
        print(f"put back from {undo_patch(file)}")
        return
    patched = patch_source(file, winner)
    print(f"changed: {file}; before: {patched.backup}")


@app.command()
def inductor(
    model: ModelFile,
    to: Annotated[Path, typer.Option(help="A folder; each kernel gets one in it.")],
    class_name: ClassName = "",
    init: InitArguments = "",
    inputs: Inputs = None,
    device: Device = "auto",
    gpus: GpuNames = "",
) -> None:
    """Write specs of the Triton kernels that Inductor writes for a module; no GPU is needed.

    Exit status: 0 at least one spec was written, 1 none.
    """
    from ...runners.modules.common.messages import ModuleSource
    from ...tools.programs.operators.inductor import write_inductor_specs

    source = ModuleSource(
        path=str(model), name=class_name, init=keyword_arguments(init), inputs=tuple(inputs or ())
    )
    found = write_inductor_specs(source, device, to.absolute(), gpu_names(gpus))
    for each in found:
        print(f"{each.name}: {each.spec or f'no spec: {each.why}'}")
    raise typer.Exit(0 if any(each.spec for each in found) else 1)
