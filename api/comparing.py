"""Two outdirs side by side, for Python."""

from __future__ import annotations

from pathlib import Path

from ..search.outdir.comparison import Compared
from ..search.outdir.comparison import compare as compared
from ..search.outdir.report import report_of


def compare(before: str | Path, after: str | Path) -> tuple[Compared, ...]:
    """Every kernel of two outdirs: its best in each, and how they differ beyond their intervals.

    Raises KernelwrightError where a folder holds no state.
    """
    return compared(report_of(Path(before)), report_of(Path(after)))
