"""A process that is told to end by a signal: what it started ends with it, at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

CLOSE_S = 1.5
"""Clients kill 2 s after SIGTERM. Closing takes 0.04 s, and many times that on a busy machine;
what is not closed by then dies with this process, and leaves its scratch folder behind."""


def end_on_signals(*close: Callable[[], None]) -> None:
    """Call each of `close` and end the process, from a thread that waits for nothing else.

    The handler only wakes it: it runs wherever the main thread was, perhaps with locks held.
    """
    told, tell = os.pipe()

    def closed() -> None:
        for each in close:
            each()

    def woken() -> None:
        number = os.read(told, 1)[0]
        closing = threading.Thread(target=closed, daemon=True)
        closing.start()
        closing.join(CLOSE_S)
        os._exit(128 + number)

    threading.Thread(target=woken, name="signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.write(tell, bytes((number,))))
