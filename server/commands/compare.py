"""`kernelwright compare`: two outdirs side by side, and whether anything got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import there

SAME_OR_BETTER, WORSE = 0, 2


def compare(
    before: Annotated[Path, typer.Argument(callback=there, help="The --outdir of one run.")],
    after: Annotated[Path, typer.Argument(callback=there, help="The --outdir of a later one.")],
    export_markdown: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write the table here, as Markdown.")
    ] = None,
) -> None:
    """The best of each kernel in two outdirs, and how they differ beyond their intervals.

    Exit status: 0 nothing got worse, 2 the best of a kernel did, 1 it could not be compared.
    """
    from ...runners.whole_files import write_whole
    from ...search.outdir.comparison import Change
    from ...search.outdir.comparison import compare as compared
    from ...search.outdir.report import report_of
    from ..terminal.grid import console
    from ..terminal.reports import compared_grid

    found = compared(report_of(before), report_of(after))
    console().print(compared_grid(found).table())
    if export_markdown is not None:
        write_whole(export_markdown, compared_grid(found).markdown())
    if any(each.change is Change.other_kernel for each in found):
        print(
            "another kernel: source, spec or environment differ, so the speedups are over "
            "different baselines; `kernelwright regression` times two sources side by side"
        )
    raise typer.Exit(WORSE if any(e.change is Change.worse for e in found) else SAME_OR_BETTER)
