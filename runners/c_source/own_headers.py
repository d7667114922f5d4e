"""Files that a source includes from beside it, and the source with their texts in their places."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from .comments import without_comments

_QUOTED: Final = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*', re.MULTILINE)


def quoted(source: str) -> tuple[str, ...]:
    """The names in `#include "..."`, each once, in order; those in comments are none."""
    found = _QUOTED.findall(without_comments(source.encode()))
    return tuple(dict.fromkeys(name.decode() for name in found))


def within(name: str, folder: str) -> str:
    """The path of a file that one in `folder` includes, from where the source stands."""
    return posixpath.normpath(posixpath.join(folder, name))


def with_headers(source: str, files: Mapping[str, str], folder: str = "") -> str:
    """The source with each of the files in place of the first line that includes it, and what they
    include in turn; other lines that include it go, as guards in headers have it.

    `files`: path from where the source stands -> text. Headers of which nothing is known stay.
    """
    if not files:
        return source
    return _joined(source, files, folder, set())


def _joined(source: str, files: Mapping[str, str], folder: str, there: set[str]) -> str:
    data, parts, at = source.encode(), list[bytes](), 0
    for found in _QUOTED.finditer(without_comments(data)):
        name = found[1].decode()
        path = next((p for p in (within(name, folder), name) if p in files), None)
        if path is None:
            continue
        parts.append(data[at : found.start()])
        if path not in there:
            there.add(path)
            inner = _joined(files[path], files, posixpath.dirname(path), there)
            parts.append(inner.removesuffix("\n").encode())
        at = found.end()
    return b"".join([*parts, data[at:]]).decode()
