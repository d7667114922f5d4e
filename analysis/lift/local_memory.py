"""Variables of a thread that lie in memory: pieces at known places are values like registers."""

from __future__ import annotations

from .expressions import Expr, Number, Unreadable
from .frames import Values


def _place(depot: str, offset: Expr) -> int:
    if not isinstance(offset, Number):
        raise Unreadable("an array of a thread is indexed by what is known only when it runs")
    return int(offset.value)


def stored(values: Values, depot: str, offset: Expr, nbytes: int, value: Expr) -> None:
    """Write a piece; what it overlaps is forgotten."""
    at = _place(depot, offset)
    for key in [key for key in values if key.startswith(f"@{depot}+")]:
        first, _, length = key.rpartition("+")[2].partition(":")
        if int(first) < at + nbytes and at < int(first) + int(length):
            del values[key]
    values[f"@{depot}+{at}:{nbytes}"] = value


def loaded(values: Values, depot: str, offset: Expr, nbytes: int) -> Expr:
    """Read a piece. Raises Unreadable for one that was written in other pieces, or never."""
    found = values.get(f"@{depot}+{_place(depot, offset)}:{nbytes}")
    if found is None:
        raise Unreadable("a variable is read in other pieces than it was written")
    return found
