"""What a server loads after it has told its lists: the tools, and all that they are made of.

Loading takes longer than all else between a client's start of the server and the lists, which is
what a client waits for. It begins when they are told, and whoever needs it waits for it.
"""

from __future__ import annotations

import threading

import anyio.to_thread

from ...runners.collecting import nothing_collected

_lock = threading.Lock()
_done = threading.Event()
_begun: list[threading.Thread] = []


def load() -> None:
    """Load it, in the thread of the caller; at once where that was done."""
    if _done.is_set():
        return
    with nothing_collected():
        from ...tools import TOOLS

        assert TOOLS
    _done.set()


async def loaded() -> None:
    """Wait until it is loaded; others are answered meanwhile."""
    if not _done.is_set():
        await anyio.to_thread.run_sync(load)


def begin() -> None:
    """Have a thread load it."""
    with _lock:
        if not _begun and not _done.is_set():
            _begun.append(threading.Thread(target=load, name="late", daemon=True))
            _begun[0].start()


def under_way() -> bool:
    """Whether a thread is loading: the interpreter must not be taken down in an orderly way then,
    since modules that are half loaded keep locks that its end may need."""
    return bool(_begun) and not _done.is_set()
