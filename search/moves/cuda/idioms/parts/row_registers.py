"""How many bytes of a column a thread holds at once, of arrays and of kept values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .row_arrays import Held
from .row_terms import Term
from .rows import Rows
from .syntax import Span

TERM_BYTES = {"float": 4, "double": 8}


@dataclass(frozen=True)
class _Life:
    """Something in registers, between loops by their numbers."""

    nbytes: int
    first: int
    """loop that it is loaded before, or computed in"""
    last: int
    """loop that reads it for the last time"""
    loaded: bool
    stored: int | None
    """loop after which it is stored"""

    def entering(self, loop: int) -> bool:
        begun = self.first <= loop if self.loaded else self.first < loop
        return begun and loop <= self.last

    def leaving(self, loop: int) -> bool:
        return self.first <= loop and (loop < self.last or self.stored == loop)


def peak_bytes(rows: Rows, held: tuple[Held, ...], terms: tuple[Term, ...]) -> int:
    """Bytes that each column takes where most is held: before a loop, or after it.

    Within a loop one column after the other becomes what leaves it, in the same registers.
    """
    lives = list(_lives(rows, held, terms))
    before = (sum(a.nbytes for a in lives if a.entering(n)) for n in range(len(rows.loops)))
    after = (sum(a.nbytes for a in lives if a.leaving(n)) for n in range(len(rows.loops)))
    return max(*before, *after)


def _lives(rows: Rows, held: tuple[Held, ...], terms: tuple[Term, ...]) -> Iterator[_Life]:
    replaced = [span for term in terms for span in term.later]
    for h in held:
        uses = [_loop(rows, s) for s in h.spans if not any(_inside(s, r) for r in replaced)]
        stored = h.stored_in
        first = min([*uses, *(() if h.loaded_in is None else (h.loaded_in,))])
        last = max([*uses, *(() if stored is None else (stored,))])
        yield _Life(h.nbytes, first, last, h.loaded_in is not None, stored)
    for term in terms:
        last = max(_loop(rows, span) for span in term.later)
        yield _Life(TERM_BYTES[term.type], term.loop, last, False, None)


def _loop(rows: Rows, span: Span) -> int:
    return next(n for n, found in enumerate(rows.loops) if _inside(span, found.loop.span))


def _inside(span: Span, outer: Span) -> bool:
    return outer[0] <= span[0] and span[1] <= outer[1]
