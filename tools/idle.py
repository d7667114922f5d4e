"""Ending processes that hold a device and have nothing to do, so that others can have it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from ..runners.model import Tier
from .rig import Rig

IDLE_S: Mapping[Tier, float] = {"device": 60.0, "native": 600.0}
"""After so long the processes of a device end: on a GPU for whoever wants to time there, on the
host for the memory they hold. The next request starts them again."""


class IdleWatch:
    """Looks after a rig whenever something could have been idle for long enough.

    It takes the lock under which all work on the rig is done: a process with something to do is
    never ended.
    """

    def __init__(
        self, rig: Rig, lock: threading.RLock, patience: Mapping[Tier, float] = IDLE_S
    ) -> None:
        self._rig, self._lock, self._patience = rig, lock, patience
        self._timer: threading.Timer | None = None

    def work_ended(self) -> None:
        """Called with the lock held, after every piece of work."""
        self._rig.mark_used(time.monotonic())
        if self._timer is None:
            self._look()

    def close(self) -> None:
        """Look no more, until there is work again."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look(self) -> None:
        with self._lock:
            self._timer = None
            left = self._rig.pause_idle(time.monotonic(), self._patience)
            if left is not None:
                self._timer = threading.Timer(left, self._look)
                self._timer.daemon = True
                self._timer.start()
