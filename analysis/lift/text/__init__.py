"""A lifted kernel as text to be read by eye; tests hold it as golden text."""

from __future__ import annotations

from collections.abc import Iterator

from ..expressions import Call, Carried, Expr, Fold, Load, Name, Number, Pointer, Sum
from ..folding import combination
from ..statements import Barrier, Body, Each, Let, Lifted, Opaque, Scatter, Statement, Store, When

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or", "bitand": "&", "bitor": "|",
    "bitxor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


def lifted_text(lifted: Lifted) -> str:
    """The whole: dimensions in the first line, then what happens at every place of them."""
    dims = ", ".join(f"{each.name} < {expression_text(each.extent)}" for each in lifted.dims)
    return "\n".join([f"for all {dims}:" if dims else "once:", *_lines(lifted.body, "  ")]) + "\n"


def _lines(body: Body, tab: str) -> Iterator[str]:
    for each in body:
        yield from _statement(each, tab)


def _statement(statement: Statement, tab: str) -> Iterator[str]:
    text = expression_text
    match statement:
        case Store(array, index, value):
            yield f"{tab}{array}[{text(index)}] = {text(value)}"
        case Scatter(op, array, index, value):
            yield f"{tab}{array}[{text(index)}] {op}= {text(value)}"
        case Let(name, value):
            yield f"{tab}let {name} = {text(value)}"
        case Barrier():
            yield f"{tab}barrier"
        case Opaque(why):
            yield f"{tab}opaque: {why}"
        case When(condition, yes, no):
            yield f"{tab}when {text(condition)}:"
            yield from _lines(yes, tab + "  ")
            if no:
                yield f"{tab}otherwise:"
                yield from _lines(no, tab + "  ")
        case Each(index, count, carried, body):
            firsts = "".join(f", {each.name} = {text(each.first)}" for each in carried)
            word = "for all" if statement.apart else "each"
            yield f"{tab}{word} {index} < {text(count)}{firsts}:"
            yield from _lines(body, tab + "  ")
            for each in carried:
                yield f"{tab}  next {each.name} = {text(each.next)}"


def expression_text(expr: Expr, *, inside: bool = False) -> str:
    """An expression; `inside` another it stands in parentheses where it has operators."""
    match expr:
        case Number(value, "bool"):
            return "true" if value else "false"
        case Number(value, "int"):
            return str(value)
        case Number(value, dtype):
            return f"{value:.9g}" if dtype == "f32" else f"{value!r} ({dtype})"
        case Name(name):
            return name
        case Sum():
            return _bracketed(_sum(expr), inside)
        case Call(op, args) if op in _INFIX and len(args) == 2:
            left, right = (expression_text(each, inside=True) for each in args)
            return _bracketed(f"{left} {_INFIX[op]} {right}", inside)
        case Call("cast" | "bits" as op, (value,), dtype):
            return f"{dtype if op == 'cast' else f'bits_{dtype}'}({expression_text(value)})"
        case Call(op, args):
            return f"{op}({', '.join(expression_text(each) for each in args)})"
        case Load(array, index):
            return f"{array}[{expression_text(index)}]"
        case Pointer(array, offset):
            return f"&{array} + {expression_text(offset)} bytes"
        case Fold():
            return _fold(expr)


def _bracketed(text: str, inside: bool) -> str:
    return f"({text})" if inside else text


def _sum(expr: Sum) -> str:
    words = list[str]()
    for factors, number in expr.terms:
        parts = [expression_text(each, inside=True) for each in factors]
        if abs(number) != 1 or not parts:
            parts.insert(0, str(abs(number)))
        sign = "-" if number < 0 else "+"
        words += [sign, "*".join(parts)] if words or number < 0 else ["*".join(parts)]
    return " ".join(words)


def _fold(fold: Fold) -> str:
    head = f"{fold.index} < {expression_text(fold.count)}"
    one = fold.carried[0]
    combined = combination(one) if len(fold.carried) == 1 else None
    if combined is not None:
        return f"{fold.kind}({head}: {expression_text(combined[1])}; from {_first(one)})"
    parts = ", ".join(
        f"{each.name} = {_first(each)} then {expression_text(each.next)}" for each in fold.carried
    )
    return f"{fold.kind}({head}: {parts}).{fold.carried[fold.which].name}"


def _first(carried: Carried) -> str:
    return expression_text(carried.first)
