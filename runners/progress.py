"""How a tool that works for long tells whoever waits how far it is, and hears that it is to end.

The function of a tool calls these; without a job around it they do nothing. In any thread that was
given the context of the one that listens.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from pydantic import BaseModel


class Listener(Protocol):
    """Whoever runs the tool; may be told by several threads at the same time. One that inherits
    from this ends no work and keeps nothing."""

    def report(self, message: str) -> None:
        """Take in what is under way, until the next word."""
        ...

    def found(self, message: str) -> None:
        """Take in what was found, which is worth a line of its own."""
        ...

    def cancelled(self) -> bool:
        """Whether the work is to end."""
        return False

    def checkpoint(self, arguments: BaseModel, so_far: BaseModel | None) -> None:
        """Take in what to call the tool with, should this process end, and what came of it. May
        raise GaveWay."""

    def earlier(self) -> Mapping[str, Any] | None:
        """What an earlier process left at its last checkpoint; None: this is the first."""
        return None


class Cancelled(Exception):
    """Whoever asked for the work wants it to end."""


class GaveWay(Exception):
    """Others wait: the work goes on later, from its last checkpoint."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_subject: ContextVar[str] = ContextVar("subject", default="")


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Let the listener hear what the body reports."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def about(subject: str) -> Generator[None]:
    """What the body reports is said of this: `TILE=32: check`. The innermost one counts."""
    token = _subject.set(subject)
    try:
        yield
    finally:
        _subject.reset(token)


def report(message: str) -> None:
    """Say what is under way, in a few words: `check`. Raises Cancelled."""
    stop_if_cancelled()
    if (listener := _listener.get()) is not None:
        subject = _subject.get()
        listener.report(f"{subject}: {message}" if subject else message)


def found(message: str) -> None:
    """Say what was found: `step 3 of 5: TILE=32: faster`."""
    if (listener := _listener.get()) is not None:
        listener.found(message)


def stop_if_cancelled() -> None:
    """Raises Cancelled where the work is to end."""
    listener = _listener.get()
    if listener is not None and listener.cancelled():
        raise Cancelled


def checkpoint(arguments: BaseModel, so_far: BaseModel | None = None) -> None:
    """Leave the arguments with which the work goes on, should this process end, and what came of
    it so far. Raises GaveWay where others wait, and this goes on later."""
    if (listener := _listener.get()) is not None:
        listener.checkpoint(arguments, so_far)


def earlier() -> Mapping[str, Any] | None:
    """What came of this work in a process that has ended; None: nothing."""
    listener = _listener.get()
    return None if listener is None else listener.earlier()
