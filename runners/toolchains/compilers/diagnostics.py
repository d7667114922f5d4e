"""Compiler output trimmed to what a reader needs: the errors, with their source lines."""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_LINES, MAX_WIDTH = 40, 500
_GNU = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|warning|note):"
)
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?P<kind>catastrophic error|error|warning|note)"
    r"(?: #[\w-]+)?: (?P<text>.*)"
)
"""NVRTC and nvcc, whose C++ front end is EDG's"""
_PLACE = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>[A-Za-z][\w ]*):")
"""any tool's message about a line of a file; the assembler begins its kinds in capitals"""
_EXCERPT = re.compile(r"^ *\d* \| |^\s|^$")
UNTOLD = "what is said of a file that is not the kernel's is not told"
UNREAD = "is not there, or no file that a kernel may read"
_BY_ITS_PLACE = re.compile(
    r"(\bfatal error: (?:/|\S*\.\./)[^:\n]*): (?:No such file or directory|Permission denied)$"
)
"""which of both it is would tell which files there are"""
_TOOL = re.compile(
    r"undefined reference|ld returned|cannot find -l|collect2:"
    r"|^(?:ptxas|nvcc|nvrtc|nvlink|cicc)\b.*\b(?:error|fatal)\b"
)
_CUDA_WORD = re.compile(r"__attribute__\(\((global|device|host|shared|constant)\)\)")


def told_of(output: str, readable: Callable[[str], bool]) -> str:
    """The output without what it quotes from files that are not `readable`, by their names as the
    compiler wrote them: messages quote words, and excerpts whole lines."""
    kept, hidden = list[str](), False
    for line in output.splitlines():
        if head := _PLACE.match(line) or _EDG.match(line):
            hidden = not readable(head["file"])
            if hidden:
                at = f"({head['line']}):" if head.re is _EDG else f":{head['line']}:"
                line = f"{head['file']}{at} {head['kind'].lower()}: {UNTOLD}"
                if kept[-1:] == [line]:
                    continue
        elif hidden and _EXCERPT.match(line) and not line.startswith("                 from "):
            continue
        kept.append(_BY_ITS_PLACE.sub(rf"\1: {UNREAD}", line))
    return "\n".join(kept)


def errors(output: str, limit: int = MAX_LINES, without: str = "") -> str:
    """The error messages of gcc, clang, nvcc or NVRTC with the source excerpt and notes of each.

    What is said of the file `without`, which the reader never saw, is left out.
    """
    kept, relevant, keeping = list[str](), False, False
    ends = ("In file included from", "                 from", f"{without or '?'}: ")
    for line in output.splitlines():
        head = _head(line)
        if head:
            relevant = "error" in head["kind"] or (relevant and head["kind"] == "note")
            keeping = relevant and head["file"] != without
        elif _TOOL.search(line):
            kept.append(_short(line))
            keeping = False
            continue
        elif not line.strip() or line.startswith(ends):
            keeping = False
        if keeping:
            kept.append(_short(line.rstrip()))
    if len(kept) > limit:
        kept = [*kept[:limit], f"... {len(kept) - limit} more lines"]
    return "\n".join(kept) or output.strip()[-2000:]


def _short(line: str) -> str:
    """A text in a source may be as long as its author likes."""
    return line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]} ... ({len(line)} characters)"


def errors_by_line(output: str, file: str) -> dict[int, str]:
    """The first error that nvcc or NVRTC reports for each line of one file, without excerpts."""
    found = dict[int, str]()
    for line in output.splitlines():
        head = _EDG.match(line)
        if head and head["file"] == file and "error" in head["kind"]:
            found.setdefault(int(head["line"]), head["text"])
    return found


def warnings(output: str, limit: int = 10) -> tuple[str, ...]:
    """The first warnings, one line each."""
    found = [line for line in output.splitlines() if (h := _head(line)) and h["kind"] == "warning"]
    return tuple(map(_short, found[:limit]))


def cuda_words(output: str) -> str:
    """`__global__` where nvcc shows its attribute; the caret line below moves along."""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if not _CUDA_WORD.search(line):
            continue
        lines[number] = _CUDA_WORD.sub(r"__\1__", line)
        if number + 1 < len(lines) and lines[number + 1].strip() == "^":
            column = lines[number + 1].index("^")
            lines[number + 1] = " " * len(_CUDA_WORD.sub(r"__\1__", line[:column])) + "^"
    return "\n".join(lines)


def _head(line: str) -> re.Match[str] | None:
    return _GNU.match(line) or _EDG.match(line)
