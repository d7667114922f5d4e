"""Standard input and output kept for the protocol alone.

From here on file descriptor 1 is stderr and 0 is empty, for us, for every library and for every
child, also at the interpreter's exit: nothing but the protocol can reach the client.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import TextIO


@dataclass(frozen=True)
class Wire:
    """The client's ends."""

    requests: TextIO
    answers: TextIO


@cache
def claim_stdio() -> Wire:
    """Take the client's streams away from everybody else; the first thing a server does."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before now goes to stderr too
    sys.stdout = sys.stderr
    return Wire(
        open(requests, encoding="utf-8", errors="replace"),
        open(answers, "w", encoding="utf-8", newline="\n"),
    )
