"""What works on one state folder: the store, the evaluator, the allowed roots."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from ..runners.errors import AccessError
from ..runners.loading.files import LoadedKernel, Roots
from ..store.store import STATE_FILE, Store
from .evaluator import Evaluator
from .rig.gpus import Gpus

SCRATCH = "scratch"


SWITCH_S = 0.0005
"""After so long a thread of Python lets another go on. Who measures on a GPU waits for answers of a
millisecond, dozens for each evaluation; with Python's own 5 ms each of them could come that much
later while other threads look after builds."""


class Bench:
    """One state folder with what works on it. Closing it ends every process it started."""

    read_reference: Callable[[LoadedKernel], str | None] | None = None
    """see `Evaluator`"""

    def __init__(self, outdir: Path, roots: Sequence[Path], gpus: Sequence[str] = ()) -> None:
        sys.setswitchinterval(SWITCH_S)
        self.outdir = outdir.resolve()
        self.roots = Roots(roots)
        try:
            self.outdir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AccessError(
                f"{self.outdir} can be no folder for the state: {error.strerror}",
                next_step="name another one with --outdir",
            ) from error
        self.store = Store.open(self.outdir / STATE_FILE)
        _remove_orphaned(self.outdir / SCRATCH)
        self._scratch = self.outdir / SCRATCH / str(os.getpid())
        self.gpus = Gpus(self._scratch, gpus)
        self.evaluator = Evaluator(
            self.store,
            self.outdir / "modules",
            self._scratch,
            self.gpus,
            read_reference=self.read_reference,
        )

    def close(self) -> None:
        """End all processes and release the store.

        The store goes first: work that another thread has under way ends at its next word to the
        store, and its lost processes are neither recorded nor replaced.
        """
        try:
            self.store.close()
        finally:
            self._end_work()
            shutil.rmtree(self._scratch, ignore_errors=True)
        with suppress(OSError):  # another process works there, or it is gone
            self._scratch.parent.rmdir()

    def _end_work(self) -> None:
        self.evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _remove_orphaned(scratch: Path) -> None:
    """Remove the scratch folders of processes that are gone (killed, mostly)."""
    for folder in scratch.glob("*"):
        if not (folder.name.isdigit() and psutil.pid_exists(int(folder.name))):
            shutil.rmtree(folder, ignore_errors=True)
