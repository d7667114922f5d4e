"""Whether a kernel visits every element of an array once: its index, its guards, a loop around.

Asked where the contract does not tell: a sum over half of an array has the form of a whole one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....shared.affine import Form
from .scope import Scope
from .syntax import (
    Binary,
    Choice,
    Expr,
    If,
    Loop,
    Number,
    Return,
    Statement,
    all_statements,
    expressions,
    within,
)

BLOCK, THREAD = Form.name("blockIdx.x"), Form.name("threadIdx.x")


def covers(
    scope: Scope, body: tuple[Statement, ...], index: Form, count: Form, loop: Loop | None = None
) -> bool:
    """Whether `index` runs over 0 .. count - 1, each once, in a kernel of these statements.

    Three forms: a thread an element; a loop in steps of the whole grid; a loop over some elements a
    thread, a block's width apart. `scope`: where the index is used.
    """
    variable = None if loop is None else f"%{loop.variable}"
    if loop is not None and variable is not None and index == Form.name(variable):
        return _strides(scope, loop, count) and not list(_guards(body))
    guarded = [_is_guard(scope, test, returns, index, count) for test, returns in _guards(body)]
    if not guarded or not all(guarded):
        return False
    width = index.coefficient("blockIdx.x")
    if width is None or loop is None or variable is None:
        return width is not None and bool(width.terms) and index == BLOCK * width + THREAD
    apart, items = index.coefficient(variable), scope.form(loop.bound)
    if apart is None or items is None or scope.form(loop.first) != Form():
        return False
    each = BLOCK * apart * items + THREAD + Form.name(variable) * apart
    return bool(apart.terms) and scope.form(loop.step) == Form.number(1) and index == each


def _strides(scope: Scope, loop: Loop, count: Form) -> bool:
    first, step = scope.form(loop.first), scope.form(loop.step)
    width = None if first is None else first.coefficient("blockIdx.x")
    if width is None or not width.terms or loop.inclusive or scope.form(loop.bound) != count:
        return False
    return first == BLOCK * width + THREAD and step == width * Form.name("gridDim.x")


def _guards(body: tuple[Statement, ...]) -> Iterator[tuple[Expr, bool]]:
    """Every test, and whether what it guards is a return."""
    for statement in all_statements(body):
        if isinstance(statement, If):
            yield statement.test, all(isinstance(s, Return) for s in statement.then)
        for expr in expressions(statement):
            for inner in within(expr):
                if isinstance(inner, Choice):
                    yield inner.test, False


def _is_guard(scope: Scope, test: Expr, returns: bool, index: Form, count: Form) -> bool:
    """`index < count` (or a return where not), or a test for the block's first thread."""
    match test:
        case Binary(operator="<", left=left, right=right) if not returns:
            return scope.form(left) == index and scope.form(right) == count
        case Binary(operator=">", left=left, right=right) if not returns:
            return scope.form(right) == index and scope.form(left) == count
        case Binary(operator=">=", left=left, right=right) if returns:
            return scope.form(left) == index and scope.form(right) == count
        case Binary(operator="==", left=left, right=Number(text="0")) if not returns:
            return scope.form(left) == THREAD
        case _:
            return False
