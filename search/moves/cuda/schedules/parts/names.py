"""Names that a written kernel brings: none that the source, its macros among it, knows already."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ......runners.c_source.comments import without_comments
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.names import WORD, Names
from .plain import Plain


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
