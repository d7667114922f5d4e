"""How a tool that works for long tells whoever waits how far it is, and hears that it is to end.

The function of a tool calls these; without a job around it they do nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from .base import Arguments


class Listener(Protocol):
    """Whoever runs the tool."""

    def report(self, message: str) -> None:
        """Take in how far the work is."""
        ...

    def cancelled(self) -> bool:
        """Whether the work is to end."""
        ...

    def checkpoint(self, arguments: Arguments) -> None:
        """Take in what to call the tool with, should this process be killed."""
        ...


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Let the listener hear what the body reports."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(message: str) -> None:
    """Say how far the work is, in a few words: `step 3 of 5: TILE=32, faster`."""
    if (listener := _listener.get()) is not None:
        listener.report(message)


def cancelled() -> bool:
    """Whether the work is to end before its next evaluation."""
    listener = _listener.get()
    return listener is not None and listener.cancelled()


def checkpoint(arguments: Arguments) -> None:
    """Leave the arguments with which the work goes on, should this process be killed."""
    if (listener := _listener.get()) is not None:
        listener.checkpoint(arguments)
