"""Blocks of several warps, each of which has a row: `threadIdx.x / 32` and `threadIdx.x % 32` as a
block of two axes, lanes along x and warps along y, which the rest then reads like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .expressions import ZERO, Call, Expr, Fold, Name, Number, conjuncts, names_in, walk
from .rewriting import rebuilt, remade
from .statements import Body, Each, Let, Lifted, Scatter, Statement, Store, When, expressions_in
from .sums import from_terms, product, terms_of, total

THREAD, WARP = "tid.x", "tid.y"
LANE = Name(THREAD)
WIDTHS = (32, 16, 8, 4)
"""lanes that may have a row together, the most first"""


def by_warps(lifted: Lifted, block: Sequence[int] | None) -> tuple[Lifted, Sequence[int] | None]:
    """The kernel with its block as lanes and warps, and that block; both as they are where the
    kernel does not divide its threads so, or uses their numbers otherwise."""
    threads = 1 if block is None else block[0]
    if block is None or any(size > 1 for size in block[1:]):
        return lifted, block
    for width in WIDTHS:
        if threads % width or threads == width or not _divides(lifted.body, width):
            continue
        body = _statements(lifted.body, _Lanes(width))
        if not any(_takes_apart(each) for each in expressions_in(body)):
            return replace(lifted, body=body), (width, threads // width)
    return lifted, block


def _divides(body: Body, width: int) -> bool:
    """Whether a thread's number is divided by the width somewhere."""
    return any(
        isinstance(part, Call)
        and part.op in ("div", "rem")
        and part.args[1] == Number(width)
        and THREAD in names_in(part.args[0])
        for expr in expressions_in(body)
        for part in walk(expr)
    )


def _takes_apart(expr: Expr) -> bool:
    """Whether lane or warp are still parts of an integer that is divided, other than in the count
    of a loop that begins at the lane: `(n - lane + 31) / 32`."""
    return any(
        isinstance(part, Call)
        and part.dtype == "int"
        and part.op in ("div", "rem")
        and names_in(part.args[0]) & {THREAD, WARP}
        and not (part.op == "div" and terms_of(part.args[0]).get((Name(THREAD),)) == -1)
        for part in walk(expr)
    )


class _Lanes:
    """Expressions over `32*warp + lane` in place of the thread's number, in normal form.

    `below`: what names are known to stay below.
    """

    def __init__(self, width: int, below: dict[str, int] | None = None, lane: Expr = LANE):
        self.width, self.lane = width, lane
        self.below = {THREAD: width} if below is None else below

    def within(self, name: str, count: Expr) -> _Lanes:
        """Also beneath a loop of that index."""
        if not isinstance(count, Number):
            return self
        return _Lanes(self.width, {**self.below, name: int(count.value)}, self.lane)

    def first(self) -> _Lanes:
        """Of the first lane alone."""
        return _Lanes(self.width, self.below, ZERO)

    def __call__(self, expr: Expr) -> Expr:
        if isinstance(expr, Name):
            if expr.name != THREAD:
                return expr
            return total((product(Number(self.width), Name(WARP)), self.lane))
        if isinstance(expr, Fold):
            return rebuilt(expr, self.within(expr.index, self(expr.count)))
        made = rebuilt(expr, self)
        if isinstance(made, Call) and made.op in ("div", "rem"):
            return self._divided(made)
        return made

    def _divided(self, made: Call) -> Expr:
        """Without what is a multiple of the divisor, where the rest surely is less than it."""
        value, by = made.args
        if not isinstance(by, Number) or made.dtype != "int":
            return made
        terms, number = terms_of(value), int(by.value)
        whole = {f: n for f, n in terms.items() if f and n % number == 0}
        rest = from_terms({f: n for f, n in terms.items() if f not in whole})
        if self._is_below(rest, number):
            if made.op == "rem":
                return rest
            return from_terms({f: n // number for f, n in whole.items()})
        if made.op == "rem" and whole:
            return remade("rem", (rest, by), "int")
        return made

    def _is_below(self, value: Expr, bound: int) -> bool:
        """Whether a number is surely not negative and below the bound."""
        most = 0
        for factors, number in terms_of(value).items():
            if not factors:
                most += number
                continue
            (*others, name) = factors
            if others or number < 0 or not isinstance(name, Name) or name.name not in self.below:
                return False
            most += number * (self.below[name.name] - 1)
        return 0 <= most < bound and terms_of(value).get((), 0) >= 0


def _statements(body: Body, lanes: _Lanes) -> Body:
    return tuple(_statement(each, lanes) for each in body)


def _statement(each: Statement, lanes: _Lanes) -> Statement:
    match each:
        case Store(array, index, value):
            return Store(array, lanes(index), lanes(value))
        case Scatter(op, array, index, value):
            return Scatter(op, array, lanes(index), lanes(value))
        case Let(name, value):
            return Let(name, lanes(value))
        case When(condition, yes, no):
            asked = lanes(condition)
            inside = (
                lanes.first()
                if Call("eq", (lanes.lane, ZERO), "bool") in conjuncts(asked)
                else lanes
            )
            return When(asked, _statements(yes, inside), _statements(no, lanes))
        case Each(index, count, carried, inner):
            within = lanes.within(index, lanes(count))
            made = tuple(replace(c, first=lanes(c.first), next=within(c.next)) for c in carried)
            return replace(each, count=lanes(count), carried=made, body=_statements(inner, within))
        case _:
            return each
