"""`kernelwright analyze MODEL.py`: where a PyTorch module's time goes, and what would pay."""

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


def analyze(
    model: ModelFile,
    class_name: ClassName = "",
    init: InitArguments = "",
    input: Inputs = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Measure rungs: layouts, compile, graphs, ...")
    ] = False,
    rung: Annotated[
        list[str] | None,
        typer.Option(
            help="Measure this rung (sdpa, compile+graphs); repeatable; implies --ladder."
        ),
    ] = None,
    allow: Allow = "",
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="A batch size of the sweep; repeatable.")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    budget_seconds: BudgetSeconds = 600.0,
    json_file: Annotated[
        Path | None, typer.Option("--json", dir_okay=False, help="Also write all of it here.")
    ] = None,
    gpus: GpuNames = "",
) -> None:
    """Time and memory of a PyTorch module by operator and module, and what could be done.

    Opportunities are ranked by predicted gain, each with its error class (bit-equal, fp32 rounding,
    TF32, bf16). --ladder measures them rung by rung, in turns, with outputs compared against
    float64. The module runs in a limited process of its own, without gradients.
    """
    from ....runners.whole_files import write_whole
    from ....tools.parts.models.asked import ANALYSIS, LADDER

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
        phases=(*ANALYSIS, LADDER) if ladder or rung else ANALYSIS,
        batches=batch,
    )
    if json_file is not None:
        write_whole(json_file, report.model_dump_json(indent=1) + "\n")
