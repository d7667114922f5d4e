"""What a loop accumulates, statement by statement: sums, extremes, and the place of an extreme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .facts import Unfit
from .syntax import (
    Assign,
    Binary,
    Call,
    Choice,
    Expr,
    If,
    Loop,
    Name,
    Statement,
    is_zero,
    names_in,
    unconverted,
)

Kind = Literal["sum", "max", "min", "greatest", "least", "first_greatest", "first_least"]
"""max and min ignore NaN as fmaxf does, greatest and least compare; first: with its place"""


@dataclass(frozen=True)
class Reduction:
    """What a loop accumulates."""

    kind: Kind
    name: str
    place: str = ""
    """the variable that holds the place of an extreme"""


def read_reduction(statement: Statement, loop: Loop, local: set[str]) -> Reduction | None:
    match statement:
        case Assign(target=Name(name=name), operator="+=", value=value) if name not in local:
            return Reduction("sum", name) if name not in names_in(value) else None
        case Assign(target=Name(name=name), operator="=", value=value) if name not in local:
            return _assigned(name, value)
        case If(test=test, then=then, otherwise=()):
            return _compared(test, then, loop, local)
        case _:
            return None


EXTREMES: dict[str, Kind] = {
    "fmaxf": "max", "max": "max", "fmax": "max", "fminf": "min", "min": "min", "fmin": "min",
}  # fmt: skip


def _assigned(name: str, value: Expr) -> Reduction | None:
    match value:
        case Binary(operator="+", left=left, right=right):
            mine = [isinstance(side, Name) and side.name == name for side in (left, right)]
            other = right if mine[0] else left
            found = any(mine) and name not in names_in(other)
            return Reduction("sum", name) if found else None
        case Call(name=called, arguments=(left, right)) if called in EXTREMES:
            mine = [isinstance(side, Name) and side.name == name for side in (left, right)]
            other = right if mine[0] else left
            found = any(mine) and name not in names_in(other)
            return Reduction(EXTREMES[called], name) if found else None
        case Choice(test=test, yes=yes, no=Name(name=kept)) if kept == name:
            return _extreme(name, test, yes)
        case _:
            return None


def _extreme(name: str, test: Expr, value: Expr) -> Reduction | None:
    """`value > name` (or the other way round), where `value` becomes `name`."""
    match test:
        case Binary(operator=">" | "<" as operator, left=left, right=Name(name=right)):
            above, compared, other = operator == ">", left, right
        case Binary(operator=">" | "<" as operator, left=Name(name=other), right=compared):
            above = operator == "<"
        case _:
            return None
    if other != name or unconverted(compared) != unconverted(value) or name in names_in(value):
        return None
    return Reduction("greatest" if above else "least", name)


def _compared(
    test: Expr, then: tuple[Statement, ...], loop: Loop, local: set[str]
) -> Reduction | None:
    """`if (v > best) best = v;`, and with `place = j;` beside it."""
    values = dict[str, Expr]()
    for statement in then:
        match statement:
            case Assign(target=Name(name=name), operator="=", value=value) if name not in local:
                values[name] = value
            case _:
                return None
    places = [n for n, v in values.items() if isinstance(v, Name) and v.name == loop.variable]
    others = [n for n in values if n not in places]
    if len(others) != 1 or len(places) > 1 or len(then) != len(values):
        return None
    found = _extreme(others[0], test, values[others[0]])
    if found is None or not places:
        return found
    kind: Kind = "first_greatest" if found.kind == "greatest" else "first_least"
    return Reduction(kind, found.name, places[0])


def check_start(reduction: Reduction, starts: dict[str, Expr]) -> None:
    """A sum must begin at 0, as each thread's part does; an extreme may begin anywhere."""
    start = starts.get(reduction.name)
    if start is None or (reduction.place and reduction.place not in starts):
        raise Unfit(f"`{reduction.name}` is reduced, and has no value before the loop")
    if reduction.kind == "sum" and not is_zero(start):
        raise Unfit(f"the sum `{reduction.name}` does not begin at 0")
