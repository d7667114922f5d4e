"""Builds and timing on the host keep out of each other's way: host timing wants quiet cores."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class QuietHost:
    """Any number of builds at once, or one timing on the host; whoever times goes first.

    What is timed on a GPU is not concerned: builds go on beside it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._builds = 0
        self._timing = 0
        """timings that run or wait"""
        self._silent = False

    @contextmanager
    def building(self) -> Generator[None]:
        """Waits while a kernel is timed on the host, or is about to be."""
        with self._changed:
            self._changed.wait_for(lambda: self._timing == 0)
            self._builds += 1
        try:
            yield
        finally:
            with self._changed:
                self._builds -= 1
                self._changed.notify_all()

    @contextmanager
    def timing(self) -> Generator[None]:
        """Waits for the builds that are under way; no other begins before the end."""
        with self._changed:
            self._timing += 1
            self._changed.wait_for(lambda: self._builds == 0 and not self._silent)
            self._silent = True
        try:
            yield
        finally:
            with self._changed:
                self._silent = False
                self._timing -= 1
                self._changed.notify_all()
