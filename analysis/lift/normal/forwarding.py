"""What a kernel reads again of what it has just stored, as the value itself: `m[i] = v; let t =
m[i]` needs no memory in between. Elements of fewer than 32 bits of an integer are left, as a store
cuts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..expressions import FLOATS, Expr, Load, Name, Number
from ..rewriting import substitute
from ..statements import (
    Barrier,
    Body,
    Each,
    Let,
    Lifted,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    statements_in,
)

_WIDE = ("int32", "int64", "uint32", "uint64")
Place = tuple[str, Expr]


def forwarded(lifted: Lifted) -> Lifted:
    """The kernel with values in place of what is read back of a place that was stored before."""
    arrays = frozenset(a.name for a in lifted.arguments if a.array)
    wide = frozenset(a.name for a in lifted.arguments if a.dtype in _WIDE)
    return replace(lifted, body=_Forwarder(arrays, wide).body(lifted.body, {}, {}))


class _Forwarder:
    """Goes through statements; `stored` is what places hold, `names` what lets are by now."""

    def __init__(self, arrays: frozenset[str], wide: frozenset[str]) -> None:
        self._arrays, self._wide = arrays, wide

    def body(self, body: Body, stored: Mapping[Place, Expr], names: Mapping[str, Expr]) -> Body:
        """Statements of one block, which end what they know."""
        held, known = dict(stored), dict(names)
        at, out = dict[Place, int](), list[Statement]()
        for each in body:
            mine: Statement = _renamed(each, known)
            match mine:
                case Let(name, Load(array, index, _)) if (array, index) in held:
                    known[name] = self._named((array, index), name, held, at, out)
                    continue
                case Store(array, index, value):
                    _forget(held, {array})
                    if self._is_kept(array, value):
                        held[array, index] = value
                        at[array, index] = len(out)
                case Scatter(_, array, _, _):
                    _forget(held, {array})
                case When(_, yes, no):
                    parts = [self.body(part, held, known) for part in (yes, no)]
                    mine = replace(mine, yes=parts[0], no=parts[1])
                    _forget(held, _written(mine))
                case Each():
                    _forget(held, _written(mine))
                    mine = replace(mine, body=self.body(mine.body, held, known))
                case Barrier():
                    held.clear()
                case _:
                    pass
            out.append(mine)
        return tuple(out)

    def _is_kept(self, array: str, value: Expr) -> bool:
        return array in self._arrays and (value.dtype in FLOATS or array in self._wide)

    def _named(
        self,
        place: Place,
        name: str,
        held: dict[Place, Expr],
        at: dict[Place, int],
        out: list[Statement],
    ) -> Expr:
        """What a place holds, under a name before it is stored, so that it is computed once."""
        value = held[place]
        if isinstance(value, Name | Number) or place not in at:
            return value
        store = out[at[place]]
        assert isinstance(store, Store)
        held[place] = Name(name, value.dtype)
        out[at[place]] = replace(store, value=held[place])
        out.insert(at[place], Let(name, value))
        for other, position in at.items():
            at[other] = position + (position >= at[place] and other != place)
        at[place] += 1
        return held[place]


def _renamed(statement: Statement, known: Mapping[str, Expr]) -> Statement:
    """A statement and all within it with values in place of lets."""
    return changed((statement,), lambda each: substitute(each, known))[0]


def _written(statement: Statement) -> set[str]:
    return {s.array for s in statements_in((statement,)) if isinstance(s, Store | Scatter)}


def _forget(held: dict[Place, Expr], arrays: set[str]) -> None:
    for place in [place for place in held if place[0] in arrays]:
        del held[place]
