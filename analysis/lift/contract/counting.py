"""How many operations on floats a lift takes, where each value is computed once."""

from __future__ import annotations

from collections.abc import Mapping

from ..expressions import FLOATS, Call, Expr, Fold, Name, Number, Sum, Unreadable, names_in, parts
from ..statements import Each, Lifted, Scatter, Statement, When, expressions_in
from ..sums import product, total

UNCOUNTED = frozenset("cast bits select neg abs isnan copysign".split())


def operations(lifted: Lifted) -> str:
    """Over the kernel's integers; empty where their number hangs on data."""
    integers = {a.name for a in lifted.arguments if not a.array and "int" in a.dtype}
    loops = {each.name: each.extent for each in lifted.dims}
    counts = dict[Expr, Expr]()
    try:
        for each in lifted.body:
            _statement(each, loops, counts)
        every = total(counts.values())
    except Unreadable:
        return ""
    if names_in(every) - integers or every == Number(0):
        return ""
    text = size_text(every)
    return f"max(0, {text})" if " - " in text or text.startswith("-") else text


def _statement(each: Statement, loops: Mapping[str, Expr], counts: dict[Expr, Expr]) -> None:
    if isinstance(each, When):
        _expression(each.condition, loops, counts)
        for inner in (*each.yes, *each.no):
            _statement(inner, loops, counts)
        return
    mine = dict(loops)
    if isinstance(each, Each):
        mine[each.index] = each.count
        for carried in each.carried:
            _expression(carried.next, mine, counts)
        for inner in each.body:
            _statement(inner, mine, counts)
        return
    for expr in expressions_in((each,)):
        _expression(expr, mine, counts)
    if isinstance(each, Scatter) and each.op == "add" and each.value.dtype in FLOATS:
        here = Call("update", (Name(each.array), each.index, each.value), each.value.dtype)
        counts[here] = product(*loops.values())


def _expression(expr: Expr, loops: Mapping[str, Expr], counts: dict[Expr, Expr]) -> None:
    """Count what is not counted yet: an operation is as often as the loops turn that it names."""
    if expr in counts:
        return
    if isinstance(expr, Fold):
        counts[expr] = Number(0)
        mine = {**loops, expr.index: expr.count}
        for each in expr.carried:
            mine[each.name] = Number(1)
            _expression(each.first, loops, counts)
        for each in expr.carried:
            _within(each.next, expr, mine, counts)
        return
    if isinstance(expr, Call):
        is_float = expr.dtype in FLOATS and expr.op not in UNCOUNTED
        counts[expr] = _turns(expr, loops) if is_float else Number(0)
    for part in parts(expr):
        _expression(part, loops, counts)


def _within(expr: Expr, fold: Fold, loops: Mapping[str, Expr], counts: dict[Expr, Expr]) -> None:
    """An operation on what a loop carries is done in each of its turns, at each place that the
    whole loop hangs on."""
    carried = {each.name for each in fold.carried}
    if isinstance(expr, Call) and names_in(expr) & carried and expr not in counts:
        is_float = expr.dtype in FLOATS and expr.op not in UNCOUNTED
        turns = product(
            _turns(fold, {k: v for k, v in loops.items() if k != fold.index}), fold.count
        )
        counts[expr] = turns if is_float else Number(0)
        for part in parts(expr):
            _within(part, fold, loops, counts)
        return
    _expression(expr, loops, counts)


def _turns(expr: Expr, loops: Mapping[str, Expr]) -> Expr:
    named = names_in(expr)
    pending, found = set(named), dict[str, Expr]()
    for name, count in loops.items():
        if name in pending:
            found[name] = count
    return product(*found.values())


def size_text(expr: Expr) -> str:
    """An expression of sizes as a spec has it. Raises Unreadable."""
    match expr:
        case Number(value):
            return str(value)
        case Name(name):
            return name
        case Sum(terms):
            words = list[str]()
            for factors, number in sorted(terms, key=lambda term: term[1] < 0):
                inner = [size_text(f) for f in factors]
                inner = [f"({t})" if " " in t else t for t in inner]
                joined = " * ".join(
                    ([str(abs(number))] if abs(number) != 1 or not inner else []) + inner
                )
                words += [
                    ("-" if number < 0 else "+") if words else ("-" if number < 0 else ""),
                    joined,
                ]
            return " ".join(w for w in words if w)
        case Call("div", (left, right)):
            return f"{_bracketed(left)} // {_bracketed(right)}"
        case Call("min" | "max" as op, args):
            return f"{op}({', '.join(size_text(each) for each in args)})"
        case _:
            raise Unreadable("a number of operations that no expression tells")


def _bracketed(expr: Expr) -> str:
    text = size_text(expr)
    return f"({text})" if " " in text else text
