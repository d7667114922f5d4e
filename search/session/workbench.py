"""Everything a tool works with: a bench, and what searches and jobs keep in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...evaluation.bench import Bench
from ...store.jobs import JobRecord
from ..lifted_reference import lifted_reference
from ..outdir.kernel_files import KernelFiles
from .kept_sessions import KeptSessions


class Workbench(Bench):
    """A bench with the sessions of its searches."""

    read_reference = staticmethod(lifted_reference)

    def __init__(self, outdir: Path, roots: Sequence[Path], gpus: Sequence[str] = ()) -> None:
        super().__init__(outdir, roots, gpus)
        self.sessions = KeptSessions()
        self.files = KernelFiles(self.store, self.outdir)
        self.unwritten: dict[str, JobRecord] = {}
        """jobs that ended here and that the store could not take: how they ended"""
        self.take_over: Callable[[], None] | None = None
        """has this process do, or give up, the jobs whose owner is gone; None: it does none"""

    def _end_work(self) -> None:
        super()._end_work()
        self.sessions.close()
