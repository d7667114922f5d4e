"""The broker itself: a desk behind a socket, a thread a call, until nobody has needed it for long.

Killed at any moment it loses nothing that somebody was told: jobs are in the store before they
begin, results before they are told, and the next broker goes on with what is unfinished.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...runners import progress
from ...runners.errors import KernelwrightError
from ...tools import TOOLS
from ...tools.base import Tool
from ..observing.spans import span
from ..resources.verbs import VERBS
from ..work.desk import Desk
from ..work.ending import end_on_signals
from .messages import Json, identity, of_error, received, send
from .place import Place, Taken, peer_of

IDLE_S: Final = 600.0
"""without a call or a job; starting anew takes about 2 s"""
LOOK_S: Final = 1.0
MOST_CALLS: Final = 1000
VERBS_BY_NAME: Final[dict[str, Tool[Any, Any]]] = {t.name: t for t in (*TOOLS, *VERBS)}
logger = logging.getLogger(__name__)


class Broker:
    """Serves the calls of this user's processes."""

    def __init__(
        self,
        taken: Taken,
        outdir: Path,
        roots: Sequence[Path],
        gpus: Sequence[str],
        idle_s: float = IDLE_S,
    ) -> None:
        self._taken, self._place, self._idle_s = taken, Place(outdir), idle_s
        self._desk = Desk(outdir, roots, gpus)
        self._is = identity(outdir, roots, gpus)
        self._lock = threading.Lock()
        self._calls, self._last = 0, time.monotonic()
        self._started = time.monotonic()
        self._closed = threading.Event()

    def serve(self) -> None:
        """Serve until it is told to end, or idle."""
        end_on_signals(self.close)
        threading.Thread(target=self._end_when_idle, daemon=True).start()
        self._recover()
        with suppress(OSError):  # closed from another thread: it is over
            while not self._closed.is_set():
                connection, _ = self._taken.listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        self.close()

    def close(self) -> None:
        """End all that was started here; what is unfinished is left for the next broker."""
        self._leave()
        self._desk.close()

    def _leave(self) -> None:
        """Be found by nobody any more: calls that end here from now on go to the next broker."""
        self._closed.set()
        with suppress(FileNotFoundError):
            self._place.socket.unlink()

    def _recover(self) -> None:
        """Go on with what an earlier broker left, before anybody asks for it."""

        def opened() -> None:
            try:
                self._desk.opened()
            except KernelwrightError as error:  # the next call is told of it
                logger.warning("the state cannot be opened: %s", error)

        threading.Thread(target=opened, daemon=True).start()

    def _end_when_idle(self) -> None:
        listening = self._taken.listening
        while not self._closed.wait(LOOK_S):
            with self._lock:
                idle = not self._calls and time.monotonic() - self._last > self._idle_s
            if not self._is_there() or (idle and not self._desk.unfinished()):
                break
        self._closed.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()

    def _is_there(self) -> bool:
        """Whether the socket is still ours: a state folder that was removed needs no broker."""
        try:
            return self._place.socket.stat().st_ino == self._taken.inode
        except OSError:
            return False

    def _answer(self, connection: socket.socket) -> None:
        with self._lock:
            self._calls += 1
            many = self._calls > MOST_CALLS
        try:
            with connection, connection.makefile("rb") as stream:
                if peer_of(connection) != os.getuid():
                    return
                asked = next(received(stream), None)
                if asked is None:
                    return
                told = self._answered(connection, asked, many)
                if told is not None:
                    send(connection, told)
                if asked.get("ask") == "stop":
                    self._leave()
        except OSError:
            pass  # whoever asked has gone; its work goes on
        except json.JSONDecodeError as error:
            logger.warning("a message is no JSON: %s", error)
        finally:
            with self._lock:
                self._calls -= 1
                self._last = time.monotonic()

    def _answered(self, connection: socket.socket, asked: Json, many: bool) -> Json | None:
        """What is sent; None: nothing, and whoever asked turns to the next broker."""
        if asked.get("ask") == "status":
            return self._status()
        if asked.get("ask") == "stop":
            return {"stopping": True, "jobs": self._desk.unfinished()}
        if asked.get("identity") != self._is:
            return {"other": self._is}
        if many:
            return {"error": of_error(_too_many())}
        return self._performed(connection, asked)

    def _performed(self, connection: socket.socket, asked: Json) -> Json | None:
        try:
            tool = VERBS_BY_NAME[asked["verb"]]
            arguments = tool.arguments.model_validate(asked["arguments"])
            below = span(f"perform {tool.name}", asked.get("spans", {}))
            with below, progress.listening(_Told(connection)):
                result = self._desk.answer(
                    tool,
                    arguments,
                    asked["request"],
                    lambda job_id: send(connection, {"job": job_id}),
                    asked.get("client", ""),
                )
            return {"result": result.model_dump(mode="json", exclude_none=True)}
        except KernelwrightError as error:
            # What a call meets whose store and processes end under it says nothing of the call.
            return None if self._closed.is_set() else {"error": of_error(error)}
        except OSError:
            raise
        except Exception as error:
            if self._closed.is_set():
                return None
            logger.exception("%s broke", asked.get("verb"))
            return {"broke": f"{type(error).__name__}: {error}"}

    def _status(self) -> Json:
        with self._lock:
            calls = self._calls - 1
        return {
            "pid": os.getpid(),
            "seconds": round(time.monotonic() - self._started, 1),
            "calls": calls,
            "jobs": self._desk.unfinished(),
            "identity": self._is,
        }


class _Told(progress.Listener):
    """Passes progress on to whoever waits; that they have gone is found by the answer."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def report(self, message: str) -> None:
        with suppress(OSError):
            send(self._connection, {"told": message})

    def found(self, message: str) -> None:
        self.report(message)


def _too_many() -> KernelwrightError:
    return KernelwrightError(
        f"{MOST_CALLS} calls are under way", next_step="wait for one of them, then call again"
    )
