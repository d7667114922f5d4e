"""`kernelwright replay`: the folder of a variant, built, checked and timed again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from .options.paths import there

HOLDS, DOES_NOT = 0, 2


def replay(
    folder: Annotated[
        Path,
        typer.Argument(
            callback=there,
            help="OUT/kernels/NAME/variants/ID, here or copied from elsewhere, or its "
            "control.json.",
        ),
    ],
    gpus: Annotated[str, typer.Option(help="The GPU to use, by index or UUID.")] = "",
) -> None:
    """Build, check and time a variant's folder again, and say whether its verdict holds.

    Nothing of the search is needed but the folder of its kernel (kernel.json lies in it). Exit
    status: 0 the verdict holds, 2 it does not, 1 it could not be tried.
    """
    from ..search.session.replay import recorded
    from ..search.session.replay import replay as replayed
    from ..search.session.workbench import Workbench

    found = recorded(folder)
    names = tuple(name.strip() for name in gpus.split(",") if name.strip())
    with tempfile.TemporaryDirectory(prefix="kernelwright-replay-") as outdir:
        with Workbench(
            Path(outdir), [folder if folder.is_dir() else folder.parent], names
        ) as bench:
            ended = replayed(bench, found)
    print(ended.told())
    raise typer.Exit(HOLDS if ended.holds else DOES_NOT)
