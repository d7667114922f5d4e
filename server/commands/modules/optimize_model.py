"""`kernelwright optimize-model MODEL.py --outdir OUT`: the ladder, and its best rung as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...options.gpus import GpuNames
from .options import (
    Allow,
    BudgetSeconds,
    ClassName,
    Device,
    InitArguments,
    Inputs,
    ModelFile,
    Threads,
)
from .reporting import report_told

NOTHING_GAINED = 2


def optimize_model(
    model: ModelFile,
    outdir: Annotated[Path, typer.Option(file_okay=False, help="Where the files are written.")],
    class_name: ClassName = "",
    init: InitArguments = "",
    input: Inputs = None,
    rung: Annotated[
        list[str] | None, typer.Option(help="Try this rung alone (compile+graphs); repeatable.")
    ] = None,
    allow: Allow = "",
    device: Device = "auto",
    threads: Threads = None,
    budget_seconds: BudgetSeconds = 600.0,
    gpus: GpuNames = "",
) -> None:
    """Climb a module's ladder and write the best rung: optimized.py, its steps, report.json.

    The module's own file is not changed. Exit status: 0 a rung is faster for sure and its outputs
    agree, 2 none is, 1 it failed.
    """
    from ....tools.parts.models.asked import ANALYSIS, LADDER
    from ....tools.parts.models.optimized import write_optimized

    report = report_told(
        model,
        class_name=class_name,
        init=init,
        inputs=input,
        rungs=rung,
        allow=allow,
        device=device,
        threads=threads,
        budget_s=budget_seconds,
        gpus=gpus,
        phases=(*(phase for phase in ANALYSIS if phase != "batches"), LADDER),
    )
    if report.best is None:
        raise typer.Exit(NOTHING_GAINED)
    print(f"written: {write_optimized(report, model, outdir)}")
