"""The product of the tutorials: tiles of both factors in shared memory, as if it had none."""

from __future__ import annotations

from ....shared.affine import Form, quotient
from .facts import Facts
from .product_terms import K, multiplied, of_indices
from .scope import Place, Scope
from .syntax import Assign, Call, Choice, Declare, Evaluate, Expr, If, Item, Loop, Number
from .unfit import Unfit


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
