"""`kernelwright report`: the report on every kernel of an outdir, as Markdown and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options.paths import there

if TYPE_CHECKING:
    from ..evaluation.bench import Bench
    from .report.facts import Report

MARKDOWN, PAGE = "report.md", "report.html"


def report(
    outdir: Annotated[Path, typer.Argument(callback=there, help="The --outdir of an earlier run.")],
    kernel: Annotated[
        str, typer.Argument(help="A kernel's name or id; left out: every kernel of the outdir.")
    ] = "",
) -> None:
    """Write report.md and report.html beside the files of each kernel: verdict, how to reproduce
    it, the incumbent over builds and dollars, the way to the winner, endings, roofline, cost.

    Reads alone: nothing is built or timed. `optimize` writes them at the end of each search.
    """
    from ..runners.errors import HandleUnknown
    from ..search.outdir.report import state_file
    from ..search.session.workbench import Workbench
    from ..store.handles import find
    from ..store.kernels import kernel_records
    from .report.facts import headline

    state_file(outdir)
    with Workbench(outdir, [outdir]) as bench:
        known = [each.kernel_id for each in kernel_records(bench.store)]
        if kernel:
            kind, found = find(bench.store, kernel)
            if kind != "kernel":
                raise HandleUnknown(f"`{kernel}` is a {kind}", valid=f"a kernel: {known}")
            known = [found]
        for kernel_id in known:
            told, folder = write_report(bench, kernel_id)
            print(f"{told.name}: {headline(told)}\n  {folder / PAGE}\n  {folder / MARKDOWN}")
    if not known:
        print(f"{outdir} holds no kernel yet: `kernelwright optimize` opens one")


def write_report(bench: Bench, kernel_id: str) -> tuple[Report, Path]:
    """Write both files of a kernel anew; what they tell, and the folder. Raises HandleUnknown."""
    from ..runners.whole_files import write_whole
    from ..search.outdir.kernel_files import KernelFiles
    from .report.markdown import markdown
    from .report.page import page
    from .report.reading import report_on

    folder = KernelFiles(bench.store, bench.outdir).folder(kernel_id)
    told = report_on(bench, kernel_id, folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / MARKDOWN, markdown(told).encode(errors="replace"))
    write_whole(folder / PAGE, page(told).encode(errors="replace"))
    return told, folder
