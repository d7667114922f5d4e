"""A matrix product recognised by its dataflow: one thread an element, or the shared-tile form.

`C[b, i, j] = epilogue(sum over k of A[b, i, k] * B[b, k, j])`, whatever the names, the order of
factors, the blocks. The output is undefined before the launch, so every right kernel of this form
covers all of it: which thread does which element need not be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .affine import Poly, quotient
from .epilogues import Epilogue, read_epilogue
from .facts import Facts
from .scope import Place, Scope
from .syntax import (
    Assign,
    Binary,
    Call,
    Choice,
    Converted,
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
    within,
)
from .unfit import Unfit

K = "%k"


@dataclass(frozen=True)
class Operand:
    """A factor: an array of two or three axes."""

    array: str
    k_contiguous: bool
    """whether neighbours in memory are neighbours along k"""


@dataclass(frozen=True)
class Product:
    """What the kernel computes."""

    left: Operand
    """A: its other axis is the rows of the output"""
    right: Operand
    output: str
    m: Poly
    n: Poly
    k: Poly
    batch: Poly | None
    epilogue: Epilogue


def read_product(facts: Facts) -> Product | str:
    """The product, or why the kernel is none."""
    try:
        return _read(facts)
    except Unfit as unfit:
        return str(unfit)


def flattened(scope: Scope, body: tuple[Statement, ...]) -> Iterator[tuple[Statement, Scope]]:
    """The statements with the scope before each, guards of indices opened or left out."""
    for statement in body:
        if isinstance(statement, If) and not statement.otherwise and _of_indices(statement.test):
            if all(isinstance(s, Return) for s in statement.then):
                continue
            if any(isinstance(s, Return) for s in all_statements(statement.then)):
                raise Unfit("a guard returns in the middle of its work")
            yield from flattened(scope, statement.then)
            continue
        yield statement, scope
        scope = scope.declare(statement)


def _of_indices(test: Expr) -> bool:
    return not any(isinstance(e, Item | Call) for e in within(test))


def _read(facts: Facts) -> Product:
    flat = list(flattened(Scope.of(facts), facts.kernel.body))
    loops = [(s, scope) for s, scope in flat if isinstance(s, Loop)]
    if len(loops) != 1:
        raise Unfit(f"{len(loops)} loops where a product has one over k (or over tiles of k)")
    loop, scope = loops[0]
    at = next(n for n, (s, _) in enumerate(flat) if s is loop)
    accumulator, left, right, whole = _contracted(facts, loop, scope)
    _starts_at_zero(accumulator, [s for s, _ in flat[:at]])
    if any(not isinstance(s, Declare) for s, _ in flat[:at]):
        raise Unfit("more than declarations stand before the loop over k")
    after = flat[at + 1 :]
    stores = [(s, sc) for s, sc in after if isinstance(s, Assign) and isinstance(s.target, Item)]
    if len(stores) != 1 or stores[0][0] is not after[-1][0]:
        raise Unfit("the sum is not stored once, as the last thing")
    store, inner = stores[0]
    assert isinstance(store, Assign)
    target = inner.place(store.target)
    if target is None or target.array not in facts.arrays:
        raise Unfit("the output's index is not affine")
    matched = _matched(facts, left, right, target, whole)
    carried = tuple(s for s, _ in after[:-1])
    row, column = matched[1], matched[2]
    epilogue = read_epilogue(facts, inner, accumulator, carried, store, row, column)
    return replace(matched[0], epilogue=epilogue)


def _starts_at_zero(accumulator: str, before: list[Statement]) -> None:
    found = [s for s in before if isinstance(s, Declare) and s.name == accumulator]
    value = found[0].value if len(found) == 1 else None
    while isinstance(value, Converted):
        value = value.operand
    if not isinstance(value, Number) or value.text.strip("0.fFlLuU"):
        raise Unfit(f"`{accumulator}` does not begin at 0")
    if found[0].type not in ("float", "double"):
        raise Unfit(f"`{accumulator}` is {found[0].type}: only sums in float are carried over")


def _contracted(facts: Facts, loop: Loop, scope: Scope) -> tuple[str, Place, Place, Poly]:
    """Accumulator, both factors with `%k` in their index, and how long k is."""
    inner = [s for s in loop.body if isinstance(s, Loop)]
    if len(inner) == 1:
        return _tiled(facts, loop, inner[0], scope)
    if inner:
        raise Unfit("the loop over k holds several loops")
    bound, step = scope.poly(loop.bound), scope.poly(loop.step)
    if (
        bound is None
        or step != Poly.number(1)
        or scope.poly(loop.first) != Poly()
        or loop.inclusive
    ):
        raise Unfit("the loop over k does not go from 0 to a size in steps of 1")
    accumulator, factors, within_loop = _multiplied(loop, scope.loop(loop))
    places = [within_loop.place(f) for f in factors]
    if any(p is None or p.array not in facts.inputs for p in places):
        raise Unfit("a factor is no element of an input with an affine index")
    renamed = {f"%{loop.variable}": Poly.name(K)}
    left, right = (Place(p.array, p.index.substitute(renamed)) for p in places if p is not None)
    return accumulator, left, right, bound


def _multiplied(loop: Loop, scope: Scope) -> tuple[str, tuple[Expr, Expr], Scope]:
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


def _tiled(facts: Facts, outer: Loop, inner: Loop, scope: Scope) -> tuple[str, Place, Place, Poly]:
    """The form of the tutorials: tiles of both factors in shared memory, barriers around."""
    tiles = dict[str, tuple[tuple[Poly, ...], Place]]()
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
                length, within_outer = scope.poly(inner.bound), scope
            case _:
                raise Unfit("the loop over tiles does more than fill tiles and multiply them")
    if length is None or within_outer is None or within_outer.poly(inner.first) != Poly():
        raise Unfit("the loop within a tile does not go from 0 to the tile's size")
    accumulator, factors, inmost = _multiplied(inner, within_outer.loop(inner))
    places = [_from_tile(f, tiles, inmost) for f in factors]
    names = f"%{outer.variable}", f"%{inner.variable}"
    left, right = (_joined(p, *names, inmost.poly(outer.step), length) for p in places)
    if left.array not in facts.inputs or right.array not in facts.inputs:
        raise Unfit("a tile is filled from an array that is no input")
    shape = facts.shape(left.array)
    k = (
        None
        if shape is None
        else shape[-1]
        if left.index.coefficient(K) == Poly.number(1)
        else shape[-2]
    )
    step, bound = scope.poly(outer.step), scope.poly(outer.bound)
    one = Poly.number(1)
    if k is None:
        raise Unfit(f"`{left.array}` has no contiguous axes in the contract")
    rounded = quotient(k + length - one, length), quotient(k - one, length) + one
    ends = (k,) if step == length else (*rounded, quotient(k, length))
    if bound not in ends or scope.poly(outer.first) != Poly():
        raise Unfit("the loop over tiles does not go over all of k")
    return accumulator, left, right, k


def _filled(statement: Assign | If, scope: Scope) -> dict[str, tuple[tuple[Poly, ...], Place]]:
    """What a statement puts into shared tiles: elements of arrays, or 0 outside of them."""
    if isinstance(statement, If):
        if not _of_indices(statement.test):
            raise Unfit("a tile is filled depending on data")
        found = dict[str, tuple[tuple[Poly, ...], Place]]()
        for inner in (*statement.then, *statement.otherwise):
            if not isinstance(inner, Assign):
                raise Unfit("a tile is filled in a form that is not known")
            found |= _filled(inner, scope)
        return found
    target, value = statement.target, scope.value(statement.value)
    if not isinstance(target, Item) or statement.operator != "=":
        raise Unfit("the loop over tiles does more than fill tiles and multiply them")
    if isinstance(value, Choice) and _of_indices(value.test):
        sides = scope.value(value.yes), scope.value(value.no)
        value = next((s for s in sides if not isinstance(s, Number)), value)
    if isinstance(value, Number):
        return {}
    indices = tuple(scope.poly(i) for i in target.indices)
    place = scope.place(value)
    if place is None or any(i is None for i in indices):
        raise Unfit(f"the tile `{target.array}` is not filled from one array")
    return {target.array: (tuple(i for i in indices if i is not None), place)}


def _from_tile(
    factor: Expr, tiles: dict[str, tuple[tuple[Poly, ...], Place]], scope: Scope
) -> Place:
    """The element of the array that a tile's element is a copy of."""
    if not isinstance(factor, Item) or factor.array not in tiles:
        raise Unfit("a factor does not come from a tile")
    stored, place = tiles[factor.array]
    wanted = [scope.poly(i) for i in factor.indices]
    values = dict[str, Poly]()
    for name, poly in zip(stored, wanted, strict=False):
        only = name.terms[0][0] if len(name.terms) == 1 and name.terms[0][1] == 1 else ()
        if len(only) != 1 or not only[0].startswith("threadIdx") or poly is None:
            raise Unfit("a tile's element is not stored by the thread of its place")
        values[only[0]] = poly
    if len(values) != len(wanted) or len(wanted) != len(stored):
        raise Unfit("a tile's element is not stored by the thread of its place")
    return Place(place.array, place.index.substitute(values))


def _joined(place: Place, outer: str, inner: str, step: Poly | None, length: Poly) -> Place:
    """One `%k` in place of the tile's number and the place within it."""
    fast, slow = place.index.coefficient(inner), place.index.coefficient(outer)
    if fast is None or slow is None or step is None:
        raise Unfit("a factor's index is not affine in k")
    if slow != (fast if step == length else fast * length):
        raise Unfit("tiles of k do not follow each other")
    rest = place.index.without(inner).without(outer)
    return Place(place.array, rest + fast * Poly.name(K))


def _matched(
    facts: Facts, one: Place, other: Place, target: Place, k: Poly
) -> tuple[Product, Poly, Poly]:
    """The product, and the element's row and column over threads and blocks."""
    output = facts.shape(target.array)
    if output is None or len(output) not in (2, 3):
        raise Unfit(f"`{target.array}` has no two or three contiguous axes in the contract")
    m, n = output[-2:]
    for left, right in ((one, other), (other, one)):
        found = _sides(facts, left, right, target, output, k)
        if found is not None:
            operands, row, column = found
            batch = output[0] if len(output) == 3 else None
            product = Product(*operands, target.array, m, n, k, batch, Epilogue("", "", (), ""))
            return product, row, column
    raise Unfit(
        "the indices of factors and output are not those of a product of the contract's shapes"
    )


def _sides(
    facts: Facts, left: Place, right: Place, target: Place, output: tuple[Poly, ...], k: Poly
) -> tuple[tuple[Operand, Operand], Poly, Poly] | None:
    m, n = output[-2:]
    a, b = _operand(facts, left, m, k), _operand(facts, right, n, k)
    if a is None or b is None:
        return None
    rest_a, rest_b = left.index.without(K), right.index.without(K)
    rows = exact(rest_a, k) if a.k_contiguous else rest_a  # batch * m + row, where A is M x K
    if rows is None or (not a.k_contiguous and len(output) == 3):
        return None
    column = target.index - rows * n
    beyond = rest_b - (column * k if b.k_contiguous else column)
    batch = exact(beyond, k * n)
    if batch is None:
        return None
    three = [len(facts.arrays[p.array].shape) == 3 for p in (left, right, target)]
    if any(three) != bool(batch.terms) or any(three) != all(three):
        return None
    names = rows.names | column.names
    if any(name.startswith("%") and name[1:] not in facts.spec.parameters for name in names):
        return None
    return (a, b), rows - batch * m, column


def _operand(facts: Facts, place: Place, outer: Poly, k: Poly) -> Operand | None:
    """The factor, if its shape and its step along k are those of an (outer, k) matrix."""
    shape = facts.shape(place.array)
    if shape is None or len(shape) not in (2, 3):
        return None
    step = place.index.coefficient(K)
    if shape[-2:] == (outer, k) and step == Poly.number(1):
        return Operand(place.array, True)
    if shape[-2:] == (k, outer) and step == outer:
        return Operand(place.array, False)
    return None


def exact(a: Poly, b: Poly) -> Poly | None:
    """`a / b` where b is a single product and divides every term; else None."""
    if len(b.terms) != 1:
        return None
    names, by = b.terms[0]
    terms = list[tuple[tuple[str, ...], int]]()
    for monomial, coefficient in a.terms:
        left = list(monomial)
        for name in names:
            if name not in left:
                return None
            left.remove(name)
        if coefficient % by:
            return None
        terms.append((tuple(left), coefficient // by))
    return Poly.of(terms)
