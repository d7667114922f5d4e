"""Starting a Python module, with a channel to it, by a fork where that can be."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypedDict

from ..processes.process import Child, Limits, spawner
from ..processes.start import start_module
from .keeper import ForkServer


def start_python(
    module: str,
    arguments: Sequence[str] = (),
    *,
    name: str,
    scratch: Path,
    environment: Mapping[str, str],
    limits: Limits,
) -> Child:
    """Start a Python module, by its full name, with a channel to it. For any thread.

    Its first argument is the number of its end: `Channel.from_fd(int(sys.argv[1]))`.
    """

    given = _Given(name=name, scratch=scratch, environment=environment, limits=limits)
    forked = _fork_server().start(module, arguments, **given)
    # It knows of every child, whose time it watches.
    return spawner().do(lambda: forked or start_module(module, arguments, **given))


class _Given(TypedDict):
    name: str
    scratch: Path
    environment: Mapping[str, str]
    limits: Limits


@cache
def _fork_server() -> ForkServer:
    """That of this process; a forked child gets its own."""
    return ForkServer()


os.register_at_fork(after_in_child=_fork_server.cache_clear)
