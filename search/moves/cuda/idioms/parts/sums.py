"""A sum over all elements of an array, recognised: one atomic addition an element or a block."""

from __future__ import annotations

from dataclasses import dataclass

from ....shared.affine import Form
from .coverage import covers
from .facts import Facts, Unfit
from .product_terms import flattened
from .scope import Scope, element_map
from .syntax import (
    Assign,
    Call,
    Choice,
    Declare,
    Evaluate,
    Expr,
    Item,
    Loop,
    Opaque,
    Statement,
    Stepped,
    is_zero,
    within,
)
from .trees import check_tree, is_barrier


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
        if not is_zero(value.no):
            raise Unfit("what is added outside of the array is not 0")
        value = scope.value(value.yes)
    place, text = element_map(facts, scope, value)
    if any(isinstance(e, Call) for e in within(value)):
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
    return Sum(place.array, output, count, text)


def _tree(facts: Facts, body: tuple[Statement, ...], scope: Scope, shared: str) -> Sum:
    flat = list(flattened(scope, body))
    effects = [
        (s, sc)
        for s, sc in flat
        if not isinstance(s, Declare) and _shared_name(s) is None and not is_barrier(s)
    ]
    match effects:
        case [
            (Assign(target=Item(array=filled), operator="=", value=value), inner),
            (Loop() | Stepped() as loop, looped),
            (Evaluate(value=Call(name="atomicAdd", arguments=(_, Item(array=read)))) as last, end),
        ] if filled == read == shared:
            assert isinstance(last.value, Call)
            check_tree(inner, effects[0][0], loop, looped, shared)
            final = end.form(last.value.arguments[1].indices[0]) if isinstance(
                last.value.arguments[1], Item
            ) else None  # fmt: skip
            if final != Form():
                raise Unfit("it is not the tree's first place that is added")
            return _summed(facts, inner, value, last.value)
        case _:
            raise Unfit("more happens than filling shared memory, a tree and an atomic addition")
