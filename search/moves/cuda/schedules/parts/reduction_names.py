"""Pieces of a row's text: names of its folds, its loop over lanes, the call by its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....shared.lifted.names import Names
from ....shared.lifted.row_program import Reduction
from .c_text import Writer

_WORD = {"sum": "total", "product": "factor", "max": "greatest", "min": "least"}


def names_of(reduction: Reduction, names: Names) -> list[str]:
    """Names of what a thread reduces: the value, or a place and its value, or a sum and the maximum
    that it is under."""
    if reduction.kind.startswith("arg"):
        return [names.fresh("best_at"), names.fresh("best")]
    if reduction.kind == "running":
        return [names.fresh("total"), names.fresh("greatest")]
    return [names.fresh(_WORD[reduction.kind])]


def by_length(held: str, streamed: str, fits: str, call: str) -> list[str]:
    """The call of what holds a row where it fits, else of what reads it anew."""
    if not held or not streamed:
        return [f"{held or streamed}{call}"]
    return [f"if ({fits}) {held}{call}", f"else {streamed}{call}"]


def each_lane(
    lane: str, lanes: str, inner: Callable[[str], list[str]], writer: Writer, tab: str
) -> Iterator[str]:
    """A loop over the lanes of a vector; what is known within it is forgotten behind it."""
    yield from ["#pragma unroll", f"{tab}for (int {lane} = 0; {lane} < {lanes}; ++{lane}) {{"]
    known = dict(writer.known)
    yield from inner(tab + "    ")
    writer.known = known
    yield f"{tab}}}"
