"""A tree of additions in shared memory, recognised.

It is not looked at but run, on counters in place of numbers: it is one if the first place ends with
every thread's value once.
"""

from __future__ import annotations

from ....shared.affine import Form
from .facts import Unfit
from .scope import Scope
from .syntax import Assign, Binary, Call, Evaluate, Expr, If, Item, Loop, Statement, Stepped, Unary

BLOCK = 64
"""threads that a tree is run with"""
MOST_STEPS = 64


def is_barrier(statement: Statement) -> bool:
    """Whether a statement is `__syncthreads()`."""
    match statement:
        case Evaluate(value=Call(name="__syncthreads")):
            return True
        case _:
            return False


def check_tree(
    inner: Scope, fill: Statement, loop: Loop | Stepped, scope: Scope, shared: str
) -> None:
    """Unfit unless the loop adds up what `fill` puts into the places of `shared`.

    Runs the tree with one bit for each thread's value. `inner`, `scope`: before `fill`, the loop.
    """
    assert isinstance(fill, Assign) and isinstance(fill.target, Item)
    if inner.form(fill.target.indices[0]) != Form.name("threadIdx.x"):
        raise Unfit("a thread does not fill its own place of shared memory")
    places = [1 << t for t in range(BLOCK)]
    numbers = {"blockDim.x": BLOCK}
    scope = scope.loop(loop)
    name = f"%{loop.variable}"
    numbers[name] = _number(scope, loop.first, numbers)
    for _ in range(MOST_STEPS):
        if not _goes_on(scope, loop, numbers):
            break
        _step(scope, loop.body, numbers, places, shared)
        numbers[name] = _next(scope, loop, numbers, name)
    if places[0] != (1 << BLOCK) - 1:
        raise Unfit("the tree does not add every thread's value once")


def _goes_on(scope: Scope, loop: Loop | Stepped, numbers: dict[str, int]) -> bool:
    if isinstance(loop, Stepped):
        return _holds(scope, loop.test, numbers)
    at, bound = numbers[f"%{loop.variable}"], _number(scope, loop.bound, numbers)
    return at <= bound if loop.inclusive else at < bound


def _next(scope: Scope, loop: Loop | Stepped, numbers: dict[str, int], name: str) -> int:
    if isinstance(loop, Loop):
        return numbers[name] + _number(scope, loop.step, numbers)
    update, at = loop.update, numbers[name]
    by = _number(scope, update.value, numbers)
    match update.operator:
        case "*=":
            return at * by
        case "/=" if by:
            return at // by
        case ">>=" if by >= 0:
            return at >> by
        case "<<=" if 0 <= by < 32:
            return at << by
        case "=":
            return by
        case _:
            return _unknown()


def _step(
    scope: Scope,
    body: tuple[Statement, ...],
    numbers: dict[str, int],
    places: list[int],
    shared: str,
) -> None:
    """One round of a tree: all threads read, then all write."""
    before = list(places)
    statements = [s for s in body if not is_barrier(s)]
    if len(statements) != 1:
        raise Unfit("a round of the tree is not one addition")
    for thread in range(BLOCK):
        statement, own = statements[0], {**numbers, "threadIdx.x": thread}
        if isinstance(statement, If):
            if statement.otherwise or len(statement.then) != 1:
                raise Unfit("a round of the tree is not one addition")
            if not _holds(scope, statement.test, own):
                continue
            statement = statement.then[0]
        match statement:
            case Assign(
                target=Item(array=a, indices=(to,)),
                operator="+=",
                value=Item(array=b, indices=(start,)),
            ) if a == b == shared:
                target, source = _number(scope, to, own), _number(scope, start, own)
                if target >= BLOCK or source >= BLOCK or places[target] & before[source]:
                    raise Unfit("a round of the tree adds a value twice")
                places[target] = before[target] + before[source]
            case _:
                raise Unfit("a round of the tree is not one addition")


def _holds(scope: Scope, test: Expr, numbers: dict[str, int]) -> bool:
    match test:
        case Binary(operator="&&", left=left, right=right):
            return _holds(scope, left, numbers) and _holds(scope, right, numbers)
        case Binary(operator="<" | ">" | "<=" | ">=" | "==" | "!=" as operator):
            a, b = _number(scope, test.left, numbers), _number(scope, test.right, numbers)
            compared = {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b}
            return compared.get(operator, a != b)
        case Unary(operator="!", operand=operand):
            return _number(scope, operand, numbers) == 0
        case _:
            raise Unfit("a test in the tree is not understood")


def _number(scope: Scope, expr: Expr, numbers: dict[str, int]) -> int:
    """An integer expression for one thread."""
    match expr:
        case Binary(operator=operator, left=left, right=right):
            return _computed(
                operator, _number(scope, left, numbers), _number(scope, right, numbers)
            )
        case _:
            form = scope.form(expr)
            try:
                return form.value(numbers) if form is not None else _unknown()
            except KeyError:
                return _unknown()


def _computed(operator: str, a: int, b: int) -> int:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "&":
            return a & b
        case "/" if b > 0:
            return a // b
        case "%" if b > 0:
            return a % b
        case ">>" if b >= 0:
            return a >> b
        case _:
            return _unknown()


def _unknown() -> int:
    raise Unfit("an index in the tree is not understood")
