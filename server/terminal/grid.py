"""Rows of text as a table on a terminal, or in Markdown: one source for both."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

WIDE = 160


@dataclass(frozen=True, slots=True)
class Grid:
    """Columns by name and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def table(self) -> Table:
        """For a terminal; the first column is never broken into lines."""
        made = Table(box=box.SIMPLE, pad_edge=False)
        for number, column in enumerate(self.columns):
            made.add_column(column, overflow="fold", no_wrap=number == 0)
        for row in self.rows:
            made.add_row(*row)
        return made

    def markdown(self) -> str:
        """As Markdown, a row a line; `|` within a cell is escaped."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def console() -> Console:
    """The console of stdout; wide enough for whole lines where stdout is no terminal."""
    width = None if sys.stdout.isatty() else max(WIDE, shutil.get_terminal_size().columns)
    return Console(width=width, highlight=False, markup=False)


def times_text(times_ms: dict[str, float]) -> str:
    """`square 47.3 ms, few_rows 25.7 ms`; `not timed` where there are none."""
    return ", ".join(f"{name} {ms:.4g} ms" for name, ms in times_ms.items()) or "not timed"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
