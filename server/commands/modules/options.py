"""Options that commands on PyTorch modules share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ....runners.errors import SpecError
from ...options.paths import file_there

ModelFile = Annotated[
    Path,
    typer.Argument(
        callback=file_there,
        help="A Python file with a torch.nn.Module (KernelBench's form, or a class), or a "
        "config.json of Hugging Face.",
    ),
]
ClassName = Annotated[
    str,
    typer.Option("--class", help="The class, or a function that returns the module."),
]
InitArguments = Annotated[
    str, typer.Option("--init", help='Keyword arguments of the class, as JSON: {"width": 512}.')
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", help="An input, in order: float32[4,512], int64[4,128]<32000."),
]
Allow = Annotated[
    str,
    typer.Option(
        help="Precisions that rungs may use, comma-separated: tf32, bf16. Default: none, outputs "
        "stay those of float32 but for rounding."
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads on a CPU; default: as many as torch takes.")
]
BudgetSeconds = Annotated[
    float, typer.Option(min=1.0, help="Seconds after which no further rung is begun.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: the GPU where one is.")]


def keyword_arguments(text: str) -> dict[str, Any]:
    """Of `--init`. Raises SpecError for what is no JSON object."""
    if not text:
        return {}
    try:
        given = json.loads(text)
    except ValueError as error:
        raise SpecError(
            f"--init is no JSON: {error}", valid='an object of keyword arguments: {"width": 512}'
        ) from error
    if not isinstance(given, dict):
        raise SpecError("--init is no object", valid='keyword arguments: {"width": 512}')
    return {str(name): value for name, value in given.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
