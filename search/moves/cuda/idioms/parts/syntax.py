"""The body of a kernel as statements and expressions, with their places in the source.

Only what the idioms ask about has a type of its own; all else is `Opaque`, with its text.
Conversions of numbers are left out of expressions (`unconverted`), their places are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

Span = tuple[int, int]
"""bytes [start, end) of the source"""


@dataclass(frozen=True)
class Node:
    """Anything that stands somewhere in the source; its place does not count in comparisons."""

    span: Span = field(compare=False)


@dataclass(frozen=True)
class Number(Node):
    """A literal, or a name that stands for a number of the language (`INFINITY`)."""

    text: str


@dataclass(frozen=True)
class Name(Node):
    """A variable; `threadIdx.x` and its like are names as well."""

    name: str


@dataclass(frozen=True)
class Unary(Node):
    """`-x`, `!x`, `&x`; `*p` is an `Item`."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """`a + b`, comparisons and logic included."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choice(Node):
    """`test ? yes : no`"""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Call(Node):
    """A call of a function by its name."""

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Item(Node):
    """An element of an array or behind a pointer."""

    array: str
    indices: tuple[Expr, ...]


@dataclass(frozen=True)
class Converted(Node):
    """A value of another number type: `(float)x`, `__half2float(x)`."""

    type: str
    operand: Expr


@dataclass(frozen=True)
class Opaque(Node):
    """An expression or statement that the idioms have no meaning for."""

    text: str


Expr = Number | Name | Unary | Binary | Choice | Call | Item | Converted | Opaque


@dataclass(frozen=True)
class Declare(Node):
    """One declared variable; several of one declaration are several of these, with one span."""

    type: str
    name: str
    value: Expr | None = None
    sizes: tuple[Expr, ...] = ()
    shared: bool = False
    pointer: bool = False


@dataclass(frozen=True)
class Assign(Node):
    """`target op value`; `++i` is `i += 1`."""

    target: Expr
    operator: str
    value: Expr


@dataclass(frozen=True)
class Loop(Node):
    """`for (type variable = first; variable < bound; variable += step) body`."""

    variable: str
    first: Expr
    bound: Expr
    step: Expr
    body: tuple[Statement, ...]
    head: Span = field(compare=False)
    """from `for` to the closing parenthesis"""
    inner: Span = field(compare=False)
    """the body, braces included"""
    inclusive: bool = False
    """`<=`"""
    kind: str = ""
    """its variable's type; empty: declared before"""


@dataclass(frozen=True)
class Stepped(Node):
    """Another `for`: `for (type variable = first; test; update) body`, such as `s /= 2`."""

    variable: str
    first: Expr
    test: Expr
    update: Assign
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If(Node):
    """`if (test) then else otherwise`."""

    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Return(Node):
    """`return;`"""


@dataclass(frozen=True)
class Evaluate(Node):
    """An expression for its effect: a call."""

    value: Expr


Statement = Declare | Assign | Loop | Stepped | If | Return | Evaluate | Opaque


def unconverted(expr: Expr) -> Expr:
    """The value before conversions around it."""
    while isinstance(expr, Converted):
        expr = expr.operand
    return expr


def is_zero(expr: Expr) -> bool:
    """Whether it is the number 0, of any type."""
    expr = unconverted(expr)
    return isinstance(expr, Number) and not expr.text.strip("0.fFlLuU")


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly within."""
    match expr:
        case Unary(operand=operand) | Converted(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return left, right
        case Choice(test=test, yes=yes, no=no):
            return test, yes, no
        case Call(arguments=inner) | Item(indices=inner):
            return inner
        case _:
            return ()


def within(expr: Expr) -> Iterator[Expr]:
    """The expression and all within it."""
    yield expr
    for part in parts(expr):
        yield from within(part)


def expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement itself, not of statements within it."""
    match statement:
        case Declare(value=value, sizes=sizes):
            return (*sizes, *(() if value is None else (value,)))
        case Assign(target=target, value=value):
            return target, value
        case Loop(first=first, bound=bound, step=step):
            return first, bound, step
        case Stepped(first=first, test=test, update=update):
            return first, test, update.target, update.value
        case If(test=test):
            return (test,)
        case Evaluate(value=value):
            return (value,)
        case Opaque():
            return (statement,)
        case _:
            return ()


def all_statements(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """These and all within them, in order."""
    for statement in statements:
        yield statement
        if isinstance(statement, Loop | Stepped):
            yield from all_statements(statement.body)
        elif isinstance(statement, If):
            yield from all_statements(statement.then)
            yield from all_statements(statement.otherwise)


def all_expressions(statements: tuple[Statement, ...]) -> Iterator[Expr]:
    """Every expression of these statements and of those within them."""
    for statement in all_statements(statements):
        for expr in expressions(statement):
            yield from within(expr)


def names_in(expr: Expr) -> frozenset[str]:
    """Variables and arrays that an expression mentions."""
    found = {e.name for e in within(expr) if isinstance(e, Name)}
    return frozenset(found | {e.array for e in within(expr) if isinstance(e, Item)})
