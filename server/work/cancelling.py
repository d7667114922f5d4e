"""Cancelling a job that runs: noticed here, whoever asked for it, and carried to its processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ...runners.errors import StoreError
from ...store.job_rows import is_cancel_requested
from ...store.store import Store

LOOK_S = 0.2
"""between two looks into the store, where another process may have asked; and between two blows,
as work that is told of a lost process starts another one before it hears that it is to end"""


class Cancelling:
    """Whether a job is to end."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        """Whether somebody has asked for it."""
        return self._asked.is_set()

    @contextmanager
    def watching(self, store: Store, job_id: str, interrupt: Callable[[], None]) -> Generator[None]:
        """While the body runs, look whether the job is to end, and `interrupt` its work then until
        the body is over."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK_S):
                try:
                    if not self.asked and is_cancel_requested(store, job_id):
                        self._asked.set()
                except StoreError:  # closed: the process ends, and what it started with it
                    return
                if self.asked:
                    interrupt()

        watcher = threading.Thread(target=look, name=f"cancelling {job_id}", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
