"""What a module's process is at, as lines on stderr; Ctrl-C ends it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from ....runners.progress import Listener, listening

STOPPED = 130
"""exit status of a command that Ctrl-C ended"""


class _OnStderr(Listener):
    def report(self, message: str) -> None:
        print(f"... {message}", file=sys.stderr, flush=True)

    def found(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


@contextmanager
def telling() -> Generator[None]:
    """Tell what is under way while the body runs. Ends the command when Ctrl-C is pressed: the
    module's process and its files are gone by then."""
    try:
        with listening(_OnStderr()):
            yield
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise typer.Exit(STOPPED) from None
