"""A sum over all elements of an array, recognised: one atomic addition an element or a block.

A tree in shared memory is not looked at but run, on counters in place of numbers: it is one if the
first place ends with every thread's value once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...affine import Form
from .coverage import covers
from .facts import Facts
from .product_terms import flattened
from .scope import Scope
from .syntax import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Evaluate,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Number,
    Opaque,
    Statement,
    Stepped,
    Unary,
    within,
)
from .unfit import Unfit

BLOCK = 64
"""threads that a tree is run with"""
MOST_STEPS = 64


@dataclass(frozen=True)
class Sum:
    """`output[0] += value(input[i])` over all i."""

    array: str
    output: str
    count: Form
    value: str
    """C++ over `element`"""


def read_sum(facts: Facts) -> Sum:
    """The sum; raises Unfit for a kernel that is none."""
    body = facts.kernel.body
    shared = next((n for n in map(_shared_name, body) if n is not None), None)
    scope = Scope.of(facts)
    if shared is None:
        call, inner = _atomic(facts, body, scope)
        return _summed(facts, inner, call.arguments[1], call)
    return _tree(facts, body, scope, shared)


def _shared_name(statement: Statement) -> str | None:
    match statement:
        case Declare(shared=True, name=name):
            return name
        case Opaque(text=text) if text.startswith("extern __shared__"):
            return text.rstrip(" ;").removesuffix("[]").split()[-1]
        case _:
            return None


def _atomic(facts: Facts, body: tuple[Statement, ...], scope: Scope) -> tuple[Call, Scope]:
    flat = list(flattened(scope, body))
    others = [(s, sc) for s, sc in flat if not isinstance(s, Declare)]
    match others:
        case [(Evaluate(value=Call(name="atomicAdd", arguments=(_, _)) as call), inner)]:
            return call, inner
        case _:
            raise Unfit("more happens than one atomic addition")


def _output(facts: Facts, scope: Scope, target: Expr) -> str:
    place = scope.address(target)
    if place is None or place.index.terms:
        raise Unfit("it is not added to the first element of an output")
    argument = facts.arrays[place.array]
    if tuple(argument.shape) not in ((1,), ("1",)) or argument.dtype not in ("float32", "int32"):
        raise Unfit("the output is no single float or int")
    return place.array


def _summed(facts: Facts, scope: Scope, value: Expr, call: Call) -> Sum:
    """The element that is added, its map, and that every element is added once."""
    output = _output(facts, scope, call.arguments[0])
    value = scope.value(value)
    if isinstance(value, Choice):
        if not (isinstance(value.no, Number) and not value.no.text.strip("0.fF")):
            raise Unfit("what is added outside of the array is not 0")
        value = scope.value(value.yes)
    items = [e for e in within(value) if isinstance(e, Item)]
    places = {scope.place(e) for e in items}
    place = next(iter(places)) if len(places) == 1 else None
    if place is None or place.array not in facts.inputs:
        raise Unfit("what is added is no function of one element of an input")
    if any(isinstance(e, Name | Opaque | Call) for e in within(value) if e not in _inside(items)):
        raise Unfit("what is added depends on more than the element")
    shape = facts.shape(place.array)
    if shape is None:
        raise Unfit("the array is not contiguous")
    count = Form.number(1)
    for size in shape:
        count *= size
    outside = tuple(s for s in facts.kernel.body if not isinstance(s, Loop | Stepped))
    if not covers(scope, outside, place.index, count):
        raise Unfit("a thread an element, guarded by the number of elements, was not found")
    text = facts.source[value.span[0] : value.span[1]].decode()
    for item in sorted(items, key=lambda e: -e.span[0]):
        start, end = (at - value.span[0] for at in item.span)
        text = text[:start] + "element" + text[end:]
    return Sum(place.array, output, count, text)


def _inside(items: list[Item]) -> list[Expr]:
    return [e for item in items for index in item.indices for e in within(index)]


def _tree(facts: Facts, body: tuple[Statement, ...], scope: Scope, shared: str) -> Sum:
    flat = list(flattened(scope, body))
    effects = [
        (s, sc)
        for s, sc in flat
        if not isinstance(s, Declare) and _shared_name(s) is None and not _barrier(s)
    ]
    match effects:
        case [
            (Assign(target=Item(array=filled), operator="=", value=value), inner),
            (Loop() | Stepped() as loop, looped),
            (Evaluate(value=Call(name="atomicAdd", arguments=(_, Item(array=read)))) as last, end),
        ] if filled == read == shared:
            assert isinstance(last.value, Call)
            _check_tree(facts, inner, effects[0][0], loop, looped, shared)
            final = end.form(last.value.arguments[1].indices[0]) if isinstance(
                last.value.arguments[1], Item
            ) else None  # fmt: skip
            if final != Form():
                raise Unfit("it is not the tree's first place that is added")
            return _summed(facts, inner, value, last.value)
        case _:
            raise Unfit("more happens than filling shared memory, a tree and an atomic addition")


def _barrier(statement: Statement) -> bool:
    match statement:
        case Evaluate(value=Call(name="__syncthreads")):
            return True
        case _:
            return False


def _check_tree(
    facts: Facts, inner: Scope, fill: Statement, loop: Loop | Stepped, scope: Scope, shared: str
) -> None:
    """Runs the tree with one bit for each thread's value."""
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
    statements = [s for s in body if not _barrier(s)]
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
