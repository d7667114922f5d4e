"""Atomic updates of one place by many: what all add to it, as one fold of all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .expressions import (
    Call,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    all_of,
    call,
    conjuncts,
    names_in,
    walk,
)
from .fold_laws import merged, plain_fold, term_of
from .rewriting import substitute
from .statements import Dim, Each, Lifted, Scatter, When, changed
from .sums import product

KINDS = {"add": "sum", "max": "max", "min": "min"}
_LEAST = -(1 << 31)


def summed_over(lifted: Lifted) -> Lifted:
    """A kernel of one atomic update with those dimensions that do not say of which place folded
    into the value: `for all i < n: y[0] add= x[i]` is `y[0] add= sum(k < n: x[k])`."""
    dims, body, guard = list(lifted.dims), lifted.body, list[Expr]()
    while len(body) == 1:
        only = body[0]
        if isinstance(only, Each) and not only.carried:
            dims.append(Dim(only.index, only.count))
            body = only.body
        elif isinstance(only, When) and not only.no:
            guard += conjuncts(only.condition)
            body = only.yes
        else:
            break
    if len(body) != 1 or not isinstance(body[0], Scatter):
        return lifted
    update = body[0]
    dims, guard, update = _without_idle_threads(dims, guard, update)
    kind = KINDS.get(update.op)
    gone = [each for each in dims if each.name not in names_in(update.index)]
    if kind is None or not gone or (kind != "sum" and update.value.dtype != "int"):
        return lifted
    kept = [each for each in dims if each not in gone]
    value = _folded(update.value, kind, gone, guard)
    if value is None:
        return lifted
    made = replace(update, value=value)
    known = {each.name for each in gone}
    rest = all_of(tuple(each for each in guard if not names_in(each) & known))
    whole = (made,) if not conjuncts(rest) else (When(rest, (made,), ()),)
    return replace(lifted, dims=tuple(kept), body=whole)


def _without_idle_threads(
    dims: list[Dim], guard: list[Expr], update: Scatter
) -> tuple[list[Dim], list[Expr], Scatter]:
    """Of threads of which every 32nd updates, those alone."""
    for condition in guard:
        match condition:
            case Call("eq", (Call("rem", (Name(name), Number(step))), Number(0))):
                pass
            case _:
                continue
        dim = next((each for each in dims if each.name == name), None)
        if dim is None or not isinstance(dim.extent, Number) or dim.extent.value % step:
            continue
        known: dict[str, Expr] = {name: product(Number(step), Name(name))}
        fewer = Dim(name, Number(int(dim.extent.value // step)))
        (made,) = changed((update,), lambda each, k=known: substitute(each, k))
        assert isinstance(made, Scatter)
        left = [substitute(each, known) for each in guard if each is not condition]
        return [fewer if each == dim else each for each in dims], left, made
    return dims, guard, update


def _folded(value: Expr, kind: str, gone: list[Dim], guard: list[Expr]) -> Expr | None:
    """What all places together contribute; None where that is no single fold."""
    names = {each.name for each in gone}
    around, inner = _scaled(value, names) if kind == "sum" else (None, value)
    number: float = 0 if kind == "sum" else _LEAST if kind == "max" else -_LEAST - 1
    start = Number(int(number) if inner.dtype == "int" else float(number), inner.dtype)
    mine = all_of(tuple(each for each in guard if names_in(each) & names))
    found = inner
    if conjuncts(mine):
        found = call("select", mine, inner, start, dtype=inner.dtype)
    for each in reversed(gone):
        whole = merged(plain_fold(kind, each.name, each.extent, start, f"~{each.name}", found))
        if not isinstance(whole, Fold):
            return None
        found = whole
    if isinstance(term_of(found) if isinstance(found, Fold) else None, Fold):
        return None
    return found if around is None else around(found)


def _scaled(value: Expr, names: set[str]) -> tuple[Callable[[Expr], Expr] | None, Expr]:
    """A sum that is multiplied or divided by what is the same everywhere, without that, and how to
    do it behind the sum of all."""
    if not isinstance(value, Call) or value.op not in ("mul", "div") or value.dtype == "int":
        return None, value
    sides = (0, 1) if value.op == "mul" else (0,)
    for at in sides:
        other = value.args[1 - at]
        if names_in(other) & names or any(isinstance(e, Load | Fold) for e in walk(other)):
            continue
        around, inner = _scaled(value.args[at], names)

        def done(
            whole: Expr,
            *,
            value: Call = value,
            other: Expr = other,
            around: Callable[[Expr], Expr] | None = around,
        ) -> Expr:
            return Call(value.op, (whole if around is None else around(whole), other), value.dtype)

        return done, inner
    return None, value
