"""Long lines of what is written, as people would break them."""

from __future__ import annotations

import re

WIDTH = 100
_ACCESS = re.compile(r"^( *)((?:\w+ = )?tl\.(?:load|store)\()(.*)\)$")


def wrapped(line: str) -> list[str]:
    """The line; of a long load or store one with its arguments on a line of their own."""
    found = _ACCESS.match(line)
    if len(line) <= WIDTH or found is None:
        return [line]
    tab, head, arguments = found.groups()
    inner = f"{tab}    {arguments}"
    if len(inner) <= WIDTH:
        return [f"{tab}{head}", inner, f"{tab})"]
    place, mask, rest = arguments.partition(", mask=")
    return [f"{tab}{head}", f"{tab}    {place},", f"{tab}    {mask[2:]}{rest},", f"{tab})"]
