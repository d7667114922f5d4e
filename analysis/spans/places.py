"""What PTX and machine code have in common: names of source files, and places in words."""

from __future__ import annotations

from ..ptx import Place


def same_file(one: str, other: str) -> bool:
    """Whether two names mean one file: a line table has a whole path, a comment of Triton's or a
    spec only the end of it."""
    short, long = sorted((one, other), key=len)
    return bool(short) and (long == short or long.endswith(f"/{short.removeprefix('./')}"))


def describe(place: Place) -> str:
    """`standard.py:293 in matmul.py:18`, without folders: they say where a build was."""
    return " in ".join(f"{frame.file.rpartition('/')[2]}:{frame.line}" for frame in place)
