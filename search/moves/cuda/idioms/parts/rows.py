"""A kernel in which one thread does a whole row, recognised: row number, loops over the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....shared.affine import Form
from .facts import Facts, Unfit
from .row_loops import RowLoop, row_loop
from .scope import Scope
from .syntax import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Number,
    Return,
    Span,
    Statement,
    all_expressions,
    all_statements,
    names_in,
)

THREAD = Form.name("threadIdx.x")
GRID_NAMES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
MATH = frozenset(
    "expf exp2f logf log2f log1pf sqrtf rsqrtf tanhf fabsf fmaxf fminf powf erff sinf cosf __expf "
    "exp log sqrt rsqrt tanh fabs max min pow abs erf floorf ceilf fmaf fma __fdividef".split()
)


@dataclass(frozen=True)
class Rows:
    """A kernel of one thread a row."""

    number: Span
    """of the expression that is the row's number"""
    rows: Form
    columns: Form
    columns_text: str
    body: tuple[Statement, ...]
    """what is done with a row that exists"""
    loops: tuple[RowLoop, ...]
    stores: tuple[Assign, ...]
    """to arrays, once a row"""


def read_rows(facts: Facts) -> Rows:
    """The kernel as rows; raises Unfit for a kernel that is none."""
    scope, number, name, rest = _row_number(facts)
    scope = replace(scope, integers={**scope.integers, name: Form.name("%row")})
    scope, rows, body = _guarded(scope, rest)
    _only_row_numbers(body)
    loops, stores = list[RowLoop](), list[Assign]()
    starts = dict[str, Expr]()
    for statement in facts.kernel.body:
        if isinstance(statement, Declare) and statement.span[1] <= number[0]:
            starts |= _starts(statement)
    for statement in body:
        if isinstance(statement, Loop):
            loops.append(row_loop(scope, statement, starts))
        else:
            stores += _once_a_row(statement)
            starts |= _starts(statement)
        scope = scope.declare(statement)
    if not loops:
        raise Unfit("there is no loop over the columns of a row")
    bounds = {_bound_text(facts, found.loop) for found in loops}
    columns = scope.form(loops[0].loop.bound)
    if len(bounds) != 1 or columns is None:
        raise Unfit("loops over columns have different ends")
    if not facts.is_size(columns):
        raise Unfit("the number of columns is no size of the contract")
    _check_memory(facts, body, loops, stores)
    return Rows(number, rows, columns, bounds.pop(), body, tuple(loops), tuple(stores))


def _row_number(facts: Facts) -> tuple[Scope, Span, str, tuple[Statement, ...]]:
    """The declaration of the row's number, and what comes after it."""
    scope = Scope.of(facts)
    for at, statement in enumerate(facts.kernel.body):
        if not isinstance(statement, Declare) or statement.value is None:
            break
        scope = scope.declare(statement)
        found = scope.integers.get(statement.name)
        if found is not None and _is_thread_number(found):
            return scope, statement.value.span, statement.name, facts.kernel.body[at + 1 :]
    raise Unfit("no row number `blockIdx.x * blockDim.x + threadIdx.x` at the start of the kernel")


def _is_thread_number(index: Form) -> bool:
    block = index.coefficient("blockIdx.x")
    if block is None or not block.terms:
        return False
    if any(name.startswith(GRID_NAMES) and name != "blockDim.x" for name in block.names):
        return False
    return index == Form.name("blockIdx.x") * block + THREAD


def _guarded(
    scope: Scope, body: tuple[Statement, ...]
) -> tuple[Scope, Form, tuple[Statement, ...]]:
    """The number of rows from the guard of the row's number, and what the guard guards."""
    row = Form.name("%row")
    for at, statement in enumerate(body):
        match statement:
            case Declare():
                scope = scope.declare(statement)
            case If(test=Binary(operator=">=", left=left, right=right), then=(Return(),)) if (
                scope.form(left) == row and not statement.otherwise
            ):
                return scope, _rows(scope, right), body[at + 1 :]
            case If(test=Binary(operator="<", left=left, right=right), then=then) if (
                scope.form(left) == row and not statement.otherwise and at == len(body) - 1
            ):
                return scope, _rows(scope, right), then
            case _:
                break
    raise Unfit("the row number is not compared with the number of rows before it is used")


def _rows(scope: Scope, bound: Expr) -> Form:
    found = scope.form(bound)
    if found is None or not scope.facts.is_size(found):
        raise Unfit("the number of rows is no size of the contract")
    return found


def _only_row_numbers(body: tuple[Statement, ...]) -> None:
    for expr in all_expressions(body):
        if isinstance(expr, Name) and expr.name.startswith(GRID_NAMES):
            raise Unfit(f"`{expr.name}` is used beside the row number")
        if isinstance(expr, Call) and expr.name not in MATH:
            raise Unfit(f"`{expr.name}` is called, which is no function of mathematics")


def _starts(statement: Statement) -> dict[str, Expr]:
    """Scalars and what they hold after a statement outside of loops."""
    match statement:
        case Declare(name=name, value=value) if value is not None:
            return {name: value}
        case Assign(target=Name(name=name), operator="=", value=value):
            return {name: value}
        case Assign(target=Name(name=name)):
            return {name: Name(statement.span, name)}
        case _:
            return {}


def _once_a_row(statement: Statement) -> Iterator[Assign]:
    """Stores of a statement outside of loops; Unfit for one that has no place there."""
    match statement:
        case Declare(shared=False, sizes=()):
            return
        case Assign(target=Item()):
            yield statement
        case Assign(target=Name()):
            return
        case If() if all(
            isinstance(s, If) or (isinstance(s, Assign) and isinstance(s.target, Name))
            for s in all_statements((*statement.then, *statement.otherwise))
        ):
            return
        case _:
            raise Unfit("a statement between the loops is neither a scalar's nor a single store")


def _bound_text(facts: Facts, loop: Loop) -> str:
    return facts.source[loop.bound.span[0] : loop.bound.span[1]].decode()


def _check_memory(
    facts: Facts, body: tuple[Statement, ...], loops: list[RowLoop], stores: list[Assign]
) -> None:
    """What one thread wrote, no other may read: each column stays with one thread."""
    in_loops = {a.item.span: a for found in loops for a in found.accesses}
    written = {a.array for a in in_loops.values() if a.writes}
    once = {s.target.span for s in stores}
    stored = {s.target.array for s in stores if isinstance(s.target, Item)}
    for array in written:
        bases = {a.base for a in in_loops.values() if a.array == array}
        if len(bases) > 1:
            raise Unfit(
                f"`{array}` is written, and accessed at another place than it is written to"
            )
    for expr in all_expressions(body):
        if isinstance(expr, Item) and expr.span not in in_loops and expr.span not in once:
            if expr.array in written | stored or expr.array not in facts.inputs:
                pointed = expr.array not in facts.arrays
                if not pointed or written | stored:
                    _check_pointed(facts, expr, written | stored)
    if written & stored:
        raise Unfit("an array is written both column by column and once a row")
    firsts = {_first(found) for found in loops if any(a.array in written for a in found.accesses)}
    if len(firsts) > 1:
        raise Unfit("loops that share written columns begin at different ones")


def _first(found: RowLoop) -> str:
    match found.loop.first:
        case Number(text=text):
            return text
        case _:
            return "?"


def _check_pointed(facts: Facts, expr: Item, written: set[str]) -> None:
    """An element read outside the column's own accesses must be of an array nobody writes."""
    array = expr.array
    if array in facts.arrays and array not in written:
        return
    if array not in facts.arrays and not any(facts.arrays[w].role == "inout" for w in written):
        pointers = [
            s
            for s in all_statements(facts.kernel.body)
            if isinstance(s, Declare) and s.name == array
        ]
        names = {n for s in pointers if s.value is not None for n in names_in(s.value)}
        if pointers and not names & written:
            return
    raise Unfit(f"`{array}` is read where another thread may have written it")
