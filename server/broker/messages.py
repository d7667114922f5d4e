"""What passes through the broker's socket: one JSON object a line, one connection a call.

A call is answered by any number of `told` and one `job`, then by `result`, `error` or `broke`.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ...runners import openmp
from ...runners.errors import KernelwrightError
from ...runners.version import __version__

LARGEST = 16 << 20
"""bytes of a line"""
Json = dict[str, Any]


def identity(outdir: Path, roots: Sequence[Path], gpus: Sequence[str]) -> Json:
    """What a server must have in common with the broker that it asks: another version, other
    folders or devices, or other rules for OpenMP would be another server."""
    return {
        "version": __version__,
        "outdir": os.path.realpath(outdir),
        "roots": [os.path.realpath(root) for root in roots],
        "gpus": list(gpus),
        "openmp": openmp.of_this_process(),
    }


def send(connection: socket.socket, message: Json) -> None:
    """Raises OSError where nobody is there any more."""
    connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")


def received(stream: IO[bytes]) -> Iterator[Json]:
    """Every whole message; ends where the other end does."""
    while True:
        try:
            line = stream.readline(LARGEST)
        except OSError:
            return
        if not line.endswith(b"\n"):
            return
        yield json.loads(line)


def of_error(error: KernelwrightError) -> Json:
    """An error in words, to be raised at the other end."""
    return {"message": error.message, "valid": error.valid, "next_step": error.next_step}


def as_error(told: Json) -> KernelwrightError:
    """The same error."""
    return KernelwrightError(told["message"], valid=told["valid"], next_step=told["next_step"])
