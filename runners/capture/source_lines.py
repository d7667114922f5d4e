"""Which line of the reader's own source was running: the innermost one."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType, TracebackType


def line_of_the_caller(source: Path) -> str:
    """` (line 12: ...)` of the source's innermost running line, or nothing."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_filename == str(source):
            return _shown(source, frame.f_lineno)
        frame = frame.f_back
    return ""


def line_of_the_error(error: BaseException, source: Path) -> str:
    """As `line_of_the_caller`, of the line that raised an exception."""
    if isinstance(error, SyntaxError) and error.filename == str(source) and error.lineno:
        return _shown(source, error.lineno)
    found, step = "", error.__traceback__
    while isinstance(step, TracebackType):
        if step.tb_frame.f_code.co_filename == str(source):
            found = _shown(source, step.tb_lineno)
        step = step.tb_next
    return found


def _shown(source: Path, number: int) -> str:
    text = linecache.getline(str(source), number).strip()
    return f" (line {number}: `{text}`)" if text else f" (line {number})"
