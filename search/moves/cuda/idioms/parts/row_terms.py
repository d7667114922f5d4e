"""What several loops over a row compute of the same element, such as the `expf` of a softmax.

Where a team keeps the row in registers, the first loop that computes it keeps it there too, and
later loops take it from there: the same function of the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ......runners.c_source.literals import integer_value
from .facts import Facts
from .row_arrays import Held
from .row_loops import RowLoop
from .rows import Rows
from .syntax import (
    Assign,
    Binary,
    Call,
    Choice,
    Converted,
    Declare,
    Expr,
    Item,
    Loop,
    Name,
    Number,
    Opaque,
    Span,
    Statement,
    Unary,
    all_statements,
    expressions,
    names_in,
    parts,
    within,
)

COSTLY = frozenset(
    "expf exp2f logf log2f log1pf tanhf powf erff sinf cosf sqrtf rsqrtf __expf __fdividef "
    "exp log tanh pow erf sqrt rsqrt".split()
)
"""functions of several instructions: a sum or a product is cheaper again than kept"""
REAL = ("float", "double")


@dataclass(frozen=True)
class Term:
    """A value of a column that several loops compute."""

    name: str
    """of the registers"""
    type: str
    """C++"""
    loop: int
    """number of the loop that computes it"""
    first: Span
    """where it is computed"""
    later: tuple[Span, ...]
    """where the same is computed again, in later loops"""


@dataclass(frozen=True)
class _Use:
    """One place that computes a value."""

    loop: int
    statement: int
    span: Span
    always: bool
    """it is computed for every column of the loop"""


def kept_terms(facts: Facts, rows: Rows, held: tuple[Held, ...]) -> tuple[Term, ...]:
    """The costly values that several loops compute of the same elements, the largest first."""
    places = {span: number for number, h in enumerate(held) for span in h.spans}
    types = _types(facts, held)
    uses = dict[Expr, list[_Use]]()
    for number, found in enumerate(rows.loops):
        for value, use in _uses(number, found, held, places):
            uses.setdefault(value, []).append(use)
    made, taken = list[Term](), list[Span]()
    for value, of in sorted(uses.items(), key=lambda kv: -len(list(within(kv[0])))):
        free = [u for u in of if not any(_overlap(u.span, t) for t in taken)]
        first = free[0] if free else of[0]
        later = [u for u in free if u.loop > first.loop]
        kind = _type(value, types)
        if not later or not first.always or kind not in REAL:
            continue
        of_row = any(isinstance(e, Item) for e in within(value))
        if not of_row or not _stays(rows, held, value, first.loop, later):
            continue
        spans = tuple(u.span for u in later)
        made.append(Term(f"row_term{len(made)}", kind, first.loop, first.span, spans))
        taken += [u.span for u in free]
    return tuple(made)


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _uses(
    number: int, found: RowLoop, held: tuple[Held, ...], places: Mapping[Span, int]
) -> Iterator[tuple[Expr, _Use]]:
    loop = found.loop
    assigned = {
        s.target.name
        for s in all_statements(loop.body)
        if isinstance(s, Assign) and isinstance(s.target, Name)
    }
    declared = [s for s in all_statements(loop.body) if isinstance(s, Declare)]
    local: dict[str, Expr | None] = {loop.variable: None, **{s.name: None for s in declared}}
    for at, statement in enumerate(loop.body):
        top = isinstance(statement, Assign | Declare)
        for inner in all_statements((statement,)):
            for expr in expressions(inner):
                for part, always in _parts(expr, top):
                    if not _costly(part):
                        continue
                    value = _plain(part, held, places, local)
                    if value is not None:
                        yield value, _Use(number, at, part.span, always)
        if isinstance(statement, Declare) and statement.value is not None:
            once = sum(s.name == statement.name for s in declared) == 1
            value = _plain(statement.value, held, places, local)
            if once and value is not None and statement.name not in assigned:
                kind = statement.type.replace("const", "").strip()
                local[statement.name] = _converted(kind, value, held)


def _parts(expr: Expr, always: bool) -> Iterator[tuple[Expr, bool]]:
    """The expression and all within it, and whether each is computed in any case."""
    yield expr, always
    for number, part in enumerate(parts(expr)):
        later = number > 0 and (
            isinstance(expr, Choice) or (isinstance(expr, Binary) and expr.operator in ("&&", "||"))
        )
        yield from _parts(part, always and not later)


def _costly(expr: Expr) -> bool:
    match expr:
        case Call(name=name):
            return name in COSTLY
        case Binary(operator="/"):
            return True
        case _:
            return False


def _plain(
    expr: Expr, held: tuple[Held, ...], places: Mapping[Span, int], local: Mapping[str, Expr | None]
) -> Expr | None:
    """The value over held arrays and names that are no loop's own; None: it is more than that.

    An element of a held array is the item without index of the array's registers.
    """
    match expr:
        case Item(span=span):
            number = places.get(span)
            return None if number is None else Item(span, held[number].name, ())
        case Name(name=name):
            return local[name] if name in local else expr
        case Opaque():
            return None
        case _:
            pass
    inner = [_plain(part, held, places, local) for part in parts(expr)]
    known = tuple(p for p in inner if p is not None)
    if len(known) != len(inner):
        return None
    match expr:
        case Unary():
            return replace(expr, operand=known[0])
        case Binary():
            return replace(expr, left=known[0], right=known[1])
        case Choice():
            return replace(expr, test=known[0], yes=known[1], no=known[2])
        case Call():
            return replace(expr, arguments=known)
        case Converted():
            return _converted(expr.type, known[0], held)
        case _:
            return expr


def _converted(kind: str, value: Expr, held: tuple[Held, ...]) -> Expr:
    """The value as that type; as it is where it has it already."""
    own = {h.name: h.element for h in held}
    same = kind == "auto" or (isinstance(value, Item) and own.get(value.array) == kind)
    return value if same else Converted(value.span, kind, value)


def _stays(rows: Rows, held: tuple[Held, ...], value: Expr, first: int, later: list[_Use]) -> bool:
    """Whether the later loops would compute the same: of columns that the first one had, from
    numbers that nothing has changed since."""
    last = later[-1].loop
    loops = rows.loops[first : last + 1]
    if any(_start(found.loop) is None for found in loops):
        return False
    if any((_start(rows.loops[u.loop].loop) or 0) < (_start(loops[0].loop) or 0) for u in later):
        return False
    begin, end = loops[0].loop.span[0], loops[-1].loop.span[1]
    between = [s for s in all_statements(rows.body) if begin <= s.span[0] < end]
    changed = {
        s.target.name for s in between if isinstance(s, Assign) and isinstance(s.target, Name)
    }
    if names_in(value) & changed:
        return False
    read = {e.array for e in within(value) if isinstance(e, Item)}
    arrays = [h for h in held if h.name in read]
    return all(_unwritten(rows, h, first, later) for h in arrays)


def _unwritten(rows: Rows, array: Held, first: int, later: list[_Use]) -> bool:
    """Whether the array is written at most where, or after, the value is taken for the last time"""
    last = later[-1]
    for number in range(first, last.loop + 1):
        found = rows.loops[number]
        for access in found.accesses:
            if not access.writes or access.item.span not in array.spans:
                continue
            at = _statement(found.loop.body, access.item.span)
            if number < last.loop or at < max(u.statement for u in later if u.loop == number):
                return False
    return True


def _statement(body: tuple[Statement, ...], span: Span) -> int:
    return next(n for n, s in enumerate(body) if s.span[0] <= span[0] < s.span[1])


def _start(loop: Loop) -> int | None:
    """The number of the first column; None: it is no plain number."""
    match loop.first:
        case Number(text=text) if text.rstrip("uUlL").isdecimal():
            return int(text.rstrip("uUlL"))
        case _:
            return None


def _types(facts: Facts, held: tuple[Held, ...]) -> dict[str, str]:
    """C++ types of variables and of the registers of arrays; not of names declared twice."""
    declared = [(p.name, p.type) for p in facts.kernel.function.parameters if not p.pointers]
    for statement in all_statements(facts.kernel.body):
        if isinstance(statement, Declare) and not statement.pointer and not statement.sizes:
            declared.append((statement.name, statement.type.replace("const", "").strip()))
    names = [name for name, _ in declared]
    found = {name: kind for name, kind in declared if names.count(name) == 1}
    return found | {h.name: h.element for h in held}


def _type(expr: Expr, types: Mapping[str, str]) -> str | None:
    """`float`, `double`, or `int` for any integer; None: not known, or neither."""
    match expr:
        case Number(text=text):
            if integer_value(text) is not None:
                return "int"
            return "float" if text[-1] in "fF" or text.lstrip("-")[0].isalpha() else "double"
        case Name(name=name):
            return _known(types.get(name))
        case Item(array=array):
            return _known(types.get(array))
        case Converted(type=kind):
            return _known(kind)
        case Call(name=name) if name.startswith("__") or (name[-1] == "f" and name != "erf"):
            return "float"
        case Opaque():
            return None
        case _:
            of = {_type(part, types) for part in parts(expr)}
            if None in of or not of:
                return None
            return next((kind for kind in ("double", "float") if kind in of), "int")


def _known(kind: str | None) -> str | None:
    return kind if kind in ("float", "double", "int") else None
