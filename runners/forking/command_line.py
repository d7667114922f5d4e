"""What /proc/PID/cmdline and /proc/PID/environ show: memory of the process itself, which the kernel
filled when its program began."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

ARG_START = 45
"""which field of /proc/self/stat behind the name of the program; the next ones are where arguments
end, and where the environment starts and ends"""


def show_as(words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Be seen under these words, and with these variables, of which as many bytes are shown as we
    were started with; where the system does not tell where they lie, all stays as it is.

    `environment` is what `os.environ` was replaced by as a whole: no variable may lie there still.
    """
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        places = [int(field) for field in fields[ARG_START : ARG_START + 4]]
    except (OSError, ValueError):
        return
    _write(places[0], places[1], words)
    if environment is not None:
        shown = [f"{name}={value}" for name, value in environment.items()]
        _write(places[2], places[3], shown)


def _write(start: int, end: int, words: Sequence[str]) -> None:
    room = end - start - 1  # the last byte ends the last word
    if room > 0:
        shown = b"\0".join(word.encode(errors="surrogateescape") for word in words)[:room]
        ctypes.memset(start, 0, room + 1)
        ctypes.memmove(start, shown, len(shown))
