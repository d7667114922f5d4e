"""Files that a command line writes besides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MarkdownFile = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False, help="Also write the tables of the outdir here, as Markdown: for a page."
    ),
]
