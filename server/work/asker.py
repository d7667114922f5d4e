"""Who asks, for the call that is under way: clients of one server take turns as others do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_asker: ContextVar[str] = ContextVar("asker", default="")


def asker() -> str:
    """The name of whoever asks; empty over stdio, where a server has one client."""
    return _asker.get()


@contextmanager
def asked_by(name: str) -> Generator[None]:
    """While the body runs, in whichever thread takes its context."""
    token = _asker.set(name)
    try:
        yield
    finally:
        _asker.reset(token)
