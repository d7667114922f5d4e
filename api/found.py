"""What a search came to, for Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..search.outdir.report import Interval, KernelReport, VariantReport


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one search. Its files stay in `folder`, its state in `outdir`."""

    kernel: KernelReport
    """everything that is known of the kernel: variants, times, searches"""
    source: str
    """of the best"""
    told: str
    """the verdict in words, as the command line prints it"""
    folder: Path
    """`OUTDIR/kernels/NAME`; `best` in it has the winner and how to build it"""
    outdir: Path

    @property
    def improved(self) -> bool:
        """Whether a variant faster than the baseline was confirmed."""
        return self.kernel.improved

    @property
    def best(self) -> VariantReport:
        """The winner; the baseline where nothing is faster."""
        return self.kernel.best

    @property
    def speedup(self) -> float:
        """Over the baseline, as it was confirmed; 1.0 where nothing is faster."""
        return 1.0 if self.best.speedup is None else self.best.speedup

    @property
    def interval(self) -> Interval | None:
        """95 % interval of the speedup; None for the baseline."""
        return self.best.interval

    @property
    def values(self) -> dict[str, int]:
        """The best values of what was tuned."""
        return dict(self.best.parameters)

    @property
    def build(self) -> Path | None:
        """The script that builds the winner as it was timed; None where no compiler is called."""
        script = self.folder / "best" / "build.sh"
        return script if script.is_file() else None
