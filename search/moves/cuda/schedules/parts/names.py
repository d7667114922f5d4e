"""Names that a written kernel brings: none that the source, its macros among it, knows already."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ......runners.c_source.comments import without_comments
from .c_text import Unwritable
from .plain import Plain

WORD = re.compile(r"[A-Za-z_]\w*")
_RESERVED = frozenset(
    "int float double char bool short long unsigned signed const void for if else return template "
    "typename struct static inline max min abs exp log sin cos tan pow y0 y1 j0 j1 jn yn gamma "
    "blockIdx threadIdx blockDim gridDim warpSize auto this new delete default switch case union "
    "enum class public private volatile register extern goto while do break continue".split()
)


class Names:
    """Gives names out, each once."""

    def __init__(self, source: str, parameters: Iterable[str]) -> None:
        self._taken = {*WORD.findall(source), *parameters, *_RESERVED}

    def fresh(self, wanted: str) -> str:
        """The name, with a number behind where it is taken; it is taken from now on."""
        plain = re.sub(r"\W", "_", wanted).strip("_") or "value"
        plain = plain if not plain[0].isdigit() else f"v{plain}"
        found, number = plain, 1
        while found in self._taken:
            number += 1
            found = f"{plain}_{number}" if plain[-1].isdigit() else f"{plain}{number}"
        self._taken.add(found)
        return found


def names_for(plain: Plain, own: Iterable[str]) -> Names:
    """Names beside those of a kernel's source, its contract, and macros that a schedule brings.
    Raises Unwritable where the source has one of those macros already."""
    source = without_comments(plain.source).decode()
    words = {*WORD.findall(source)}
    spec = plain.spec
    contract = {*spec.symbols, *spec.parameters, *(a.name for a in spec.io.arguments)}
    for each in own:
        if each in words or each in contract:
            raise Unwritable(f"the source has a `{each}` of its own")
    for each in plain.added:
        if re.search(rf"#\s*define\s+{each}\b", source):
            raise Unwritable(f"`{each}` is a macro of the source")
    return Names(source, [*(a.name for a in plain.lifted.arguments), *contract, *own])
