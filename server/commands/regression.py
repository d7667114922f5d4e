"""`kernelwright regression`: has a kernel become slower? For continuous integration."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..options.gpus import GpuNames, gpu_names
from ..options.paths import file_there

NOT_SLOWER, FAILED, SLOWER, OPEN = 0, 1, 2, 3


def regression(
    input: Annotated[Path, typer.Option(callback=file_there, help="The spec of the kernel now.")],
    before: Annotated[
        Path,
        typer.Option(callback=file_there, help="The source as it was, of the same spec."),
    ],
    allow: Annotated[
        float,
        typer.Option(min=0.0, max=0.99, help="A loss that is accepted (0.05 = 5 %)."),
    ] = 0.0,
    gpus: GpuNames = "",
) -> None:
    """Build, check and time a kernel's source against an earlier one, side by side.

    Both run on this machine in interleaved blocks, so nothing has to be kept from another run.
    Exit status: 0 not slower, 2 slower (the whole 95 % interval lies below 1, less what --allow
    accepts), 3 the machine was too noisy to say, 1 the source fails or cannot be tried.
    """
    from ...runners.loading.files import Roots, load_file
    from ...search.session.regression import Verdict
    from ...search.session.regression import regression as judged
    from ...search.session.workbench import Workbench

    roots = [input.parent, before.parent, Path.cwd()]
    loaded, source = load_file(input, Roots(roots)), Roots(roots).read(before.resolve())
    with tempfile.TemporaryDirectory(prefix="kernelwright-regression-") as outdir:
        with Workbench(Path(outdir), roots, gpu_names(gpus)) as bench:
            found = judged(bench, loaded, source, allow)
    print(found.told())
    statuses = {Verdict.slower: SLOWER, Verdict.open: OPEN, Verdict.failed: FAILED}
    raise typer.Exit(statuses.get(found.verdict, NOT_SLOWER))
