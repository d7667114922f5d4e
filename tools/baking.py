"""Parameter values written into a source as the defaults of its guarded macros."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

GUARD = (
    r"(?P<head>^[ \t]*#[ \t]*ifndef[ \t]+{name}\b[^\n]*\n[ \t]*#[ \t]*define[ \t]+{name}[ \t]+)"
    r"(?P<value>[^\s/]+)"
)


@dataclass(frozen=True)
class Baked:
    """A source with values in it; `flags` are those parameters that have no guarded default."""

    source: str
    values: dict[str, int]
    flags: dict[str, int]


def bake(source: str, parameters: Mapping[str, int]) -> Baked:
    """Set the default in every `#ifndef NAME / #define NAME n`, where there is exactly one."""
    values, flags = dict[str, int](), dict[str, int]()
    for name, value in sorted(parameters.items()):
        pattern = re.compile(GUARD.format(name=re.escape(name)), re.MULTILINE)
        if len(pattern.findall(source)) == 1:
            source = pattern.sub(rf"\g<head>{value}", source)
            values[name] = value
        else:
            flags[name] = value
    return Baked(source, values, flags)
