"""Compiler output trimmed to what a reader needs: the errors, with their source lines."""

from __future__ import annotations

import re

MAX_LINES = 40
_HEAD = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?P<kind>fatal error|error|warning|note):"
)
_LINKER = re.compile(r"undefined reference|ld returned|cannot find -l|collect2:")


def errors(output: str, limit: int = MAX_LINES, without: str = "") -> str:
    """The error messages of gcc or clang with the source excerpt and notes that follow each.

    What is said of the file `without`, which the reader never saw, is left out.
    """
    kept, relevant, keeping = list[str](), False, False
    for line in output.splitlines():
        head = _HEAD.match(line)
        if head:
            relevant = "error" in head["kind"] or (relevant and head["kind"] == "note")
            keeping = relevant and head["file"] != without
        elif _LINKER.search(line):
            kept.append(line)
            keeping = False
            continue
        elif line.startswith(("In file included from", "                 from")):
            keeping = False
        if keeping:
            kept.append(line.rstrip())
    if len(kept) > limit:
        kept = [*kept[:limit], f"... {len(kept) - limit} more lines"]
    return "\n".join(kept) or output.strip()[-2000:]


def warnings(output: str, limit: int = 10) -> tuple[str, ...]:
    """The first warnings, one line each."""
    found = [
        line for line in output.splitlines() if (h := _HEAD.match(line)) and h["kind"] == "warning"
    ]
    return tuple(found[:limit])
