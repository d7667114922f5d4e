"""Terms that readers of products share: guards left out, sums of products, tiles of factors.

A product with tiles of both factors in shared memory is read as if it had none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....shared.affine import Form, quotient
from .facts import Facts, Unfit
from .scope import Place, Scope
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
    Return,
    Statement,
    all_statements,
    is_zero,
    within,
)

K = "%k"


def flattened(scope: Scope, body: tuple[Statement, ...]) -> Iterator[tuple[Statement, Scope]]:
    """The statements with the scope before each, guards of indices opened or left out."""
    for statement in body:
        if isinstance(statement, If) and not statement.otherwise and of_indices(statement.test):
            if all(isinstance(s, Return) for s in statement.then):
                continue
            if any(isinstance(s, Return) for s in all_statements(statement.then)):
                raise Unfit("a guard returns in the middle of its work")
            yield from flattened(scope, statement.then)
            continue
        yield statement, scope
        scope = scope.declare(statement)


def of_indices(test: Expr) -> bool:
    return not any(isinstance(e, Item | Call) for e in within(test))


def multiplied(loop: Loop, scope: Scope) -> tuple[str, tuple[Expr, Expr], Scope]:
    """`sum += a * b` as the only effect of a loop; names that only hold values are seen through."""
    found: tuple[str, tuple[Expr, Expr]] | None = None
    for statement in loop.body:
        match statement:
            case Declare(sizes=()):
                scope = scope.declare(statement)
            case Assign(target=Name(name=name)) if found is None:
                factors = _factors(name, statement, scope)
                if factors is None:
                    raise Unfit(f"`{name}` is no sum of products of two elements")
                found = name, factors
            case _:
                raise Unfit("the loop over k does more than add up products")
    if found is None:
        raise Unfit("the loop over k adds nothing up")
    return *found, scope


def _factors(name: str, statement: Assign, scope: Scope) -> tuple[Expr, Expr] | None:
    def mine(expr: Expr) -> bool:
        return isinstance(expr, Name) and expr.name == name

    match statement.operator, scope.value(statement.value):
        case "+=", value:
            product = value
        case "=", Binary(operator="+", left=left, right=right) if mine(left) or mine(right):
            product = scope.value(right if mine(left) else left)
        case "=", Call(name="fmaf" | "__fmaf_rn" | "fma", arguments=(a, b, c)) if mine(c):
            return scope.value(a), scope.value(b)
        case _:
            return None
    if isinstance(product, Binary) and product.operator == "*":
        return scope.value(product.left), scope.value(product.right)
    return None


def sum_type(name: str, before: Iterable[Statement]) -> str:
    """The C++ type of a sum. Raises Unfit unless it is declared once, and begins at 0."""
    found = [s for s in before if isinstance(s, Declare) and s.name == name]
    value = found[0].value if len(found) == 1 else None
    if value is None or not is_zero(value):
        raise Unfit(f"`{name}` does not begin at 0")
    return found[0].type


def comparisons(test: Expr) -> Iterator[Binary | None]:
    """The parts of a test that is joined by `&&` or `||`; None for one that compares nothing."""
    match test:
        case Binary(operator="&&" | "||", left=left, right=right):
            yield from comparisons(left)
            yield from comparisons(right)
        case Binary():
            yield test
        case _:
            yield None


def tiled(facts: Facts, outer: Loop, inner: Loop, scope: Scope) -> tuple[str, Place, Place, Form]:
    """The form of the tutorials: tiles of both factors in shared memory, barriers around."""
    tiles = dict[str, tuple[tuple[Form, ...], Place]]()
    length = within_outer = None
    scope = scope.loop(outer)
    for statement in outer.body:
        match statement:
            case Declare():
                scope = scope.declare(statement)
            case Evaluate(value=Call(name="__syncthreads")):
                pass
            case Assign() | If():
                tiles |= _filled(statement, scope)
            case Loop() if statement is inner:
                length, within_outer = scope.form(inner.bound), scope
            case _:
                raise Unfit("the loop over tiles does more than fill tiles and multiply them")
    if length is None or within_outer is None or within_outer.form(inner.first) != Form():
        raise Unfit("the loop within a tile does not go from 0 to the tile's size")
    accumulator, factors, inmost = multiplied(inner, within_outer.loop(inner))
    places = [_from_tile(f, tiles, inmost) for f in factors]
    names = f"%{outer.variable}", f"%{inner.variable}"
    left, right = (_joined(p, *names, inmost.form(outer.step), length) for p in places)
    if left.array not in facts.inputs or right.array not in facts.inputs:
        raise Unfit("a tile is filled from an array that is no input")
    shape = facts.shape(left.array)
    k = (
        None
        if shape is None
        else shape[-1]
        if left.index.coefficient(K) == Form.number(1)
        else shape[-2]
    )
    step, bound = scope.form(outer.step), scope.form(outer.bound)
    one = Form.number(1)
    if k is None:
        raise Unfit(f"`{left.array}` has no contiguous axes in the contract")
    rounded = quotient(k + length - one, length), quotient(k - one, length) + one
    ends = (k,) if step == length else (*rounded, quotient(k, length))
    if bound not in ends or scope.form(outer.first) != Form():
        raise Unfit("the loop over tiles does not go over all of k")
    return accumulator, left, right, k


def _filled(statement: Assign | If, scope: Scope) -> dict[str, tuple[tuple[Form, ...], Place]]:
    """What a statement puts into shared tiles: elements of arrays, or 0 outside of them."""
    if isinstance(statement, If):
        if not of_indices(statement.test):
            raise Unfit("a tile is filled depending on data")
        found = dict[str, tuple[tuple[Form, ...], Place]]()
        for inner in (*statement.then, *statement.otherwise):
            if not isinstance(inner, Assign):
                raise Unfit("a tile is filled in a form that is not known")
            found |= _filled(inner, scope)
        return found
    target, value = statement.target, scope.value(statement.value)
    if not isinstance(target, Item) or statement.operator != "=":
        raise Unfit("the loop over tiles does more than fill tiles and multiply them")
    if isinstance(value, Choice) and of_indices(value.test):
        sides = scope.value(value.yes), scope.value(value.no)
        value = next((s for s in sides if not isinstance(s, Number)), value)
    if isinstance(value, Number):
        return {}
    indices = tuple(scope.form(i) for i in target.indices)
    place = scope.place(value)
    if place is None or any(i is None for i in indices):
        raise Unfit(f"the tile `{target.array}` is not filled from one array")
    return {target.array: (tuple(i for i in indices if i is not None), place)}


def _from_tile(
    factor: Expr, tiles: dict[str, tuple[tuple[Form, ...], Place]], scope: Scope
) -> Place:
    """The element of the array that a tile's element is a copy of."""
    if not isinstance(factor, Item) or factor.array not in tiles:
        raise Unfit("a factor does not come from a tile")
    stored, place = tiles[factor.array]
    wanted = [scope.form(i) for i in factor.indices]
    values = dict[str, Form]()
    for name, form in zip(stored, wanted, strict=False):
        only = name.terms[0][0] if len(name.terms) == 1 and name.terms[0][1] == 1 else ()
        if len(only) != 1 or not only[0].startswith("threadIdx") or form is None:
            raise Unfit("a tile's element is not stored by the thread of its place")
        values[only[0]] = form
    if len(values) != len(wanted) or len(wanted) != len(stored):
        raise Unfit("a tile's element is not stored by the thread of its place")
    return Place(place.array, place.index.substitute(values))


def _joined(place: Place, outer: str, inner: str, step: Form | None, length: Form) -> Place:
    """One `%k` in place of the tile's number and the place within it."""
    fast, slow = place.index.coefficient(inner), place.index.coefficient(outer)
    if fast is None or slow is None or step is None:
        raise Unfit("a factor's index is not affine in k")
    if slow != (fast if step == length else fast * length):
        raise Unfit("tiles of k do not follow each other")
    rest = place.index.without(inner).without(outer)
    return Place(place.array, rest + fast * Form.name(K))
