"""Names that a source gives to types: by `typedef`, by `using`, and by a macro that is one word or
several, such as `#define real double`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from .comments import without_comments

_ALIAS = re.compile(
    r"\btypedef\s+(?P<old>[\w:\s]+?)\s+(?P<name>\w+)\s*;"
    r"|\busing\s+(?P<name2>\w+)\s*=\s*(?P<old2>[\w:\s]+?)\s*;"
    r"|^[ \t]*#[ \t]*define[ \t]+(?P<name3>\w+)[ \t]+(?P<old3>[A-Za-z_][\w: \t]*?)[ \t]*$",
    re.MULTILINE,
)
MOST = 8
"""names of names that are followed"""


def resolved(kind: str, source: bytes) -> str:
    """A type with what it stands for in place of a name; a name that stands for several, as where
    conditions of the preprocessor choose, stays."""
    known = _aliases(source)
    for _ in range(MOST):
        if kind not in known:
            return kind
        kind = known[kind]
    return kind


@lru_cache(maxsize=32)
def _aliases(source: bytes) -> Mapping[str, str]:
    found = dict[str, set[str]]()
    for match in _ALIAS.finditer(without_comments(source).decode(errors="replace")):
        groups = match.groupdict()
        name = groups["name"] or groups["name2"] or groups["name3"]
        old = groups["old"] or groups["old2"] or groups["old3"]
        found.setdefault(name, set()).add(" ".join(old.split()))
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}
