"""Where in the sources an instruction comes from: a place, and the calls inlined there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source file, as the compiler names the file; lines count from 1."""

    file: str
    line: int

    @property
    def short(self) -> str:
        """`matmul.py:18`, without folders: they say where a build was, not what it was of."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"


Chain = tuple[Place, ...]
"""The innermost place first, then where it was inlined, out to the kernel itself."""


def same_file(one: str, other: str) -> bool:
    """Whether two names mean one file: a line table has a whole path, a comment of Triton's or a
    spec only the end of it."""
    short, long = sorted((one, other), key=len)
    return bool(short) and (long == short or long.endswith(f"/{short.removeprefix('./')}"))


def describe(chain: Chain) -> str:
    """`standard.py:293 in matmul.py:18`, for people."""
    return " in ".join(place.short for place in chain)
