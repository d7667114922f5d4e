"""A matrix product recognised by its dataflow: one thread an element, or the shared-tile form.

`C[b, i, j] = epilogue(sum over k of A[b, i, k] * B[b, k, j])`, whatever the names, the order of
factors, the blocks. The output is undefined before the launch, so every right kernel of this form
covers all of it: which thread does which element need not be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....shared.affine import Form, exact_quotient
from .epilogues import Epilogue, read_epilogue
from .facts import Facts, Unfit
from .product_terms import K, comparisons, flattened, multiplied, sum_type, tiled
from .scope import Place, Scope
from .syntax import Assign, Declare, If, Item, Loop, all_statements


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
    m: Form
    n: Form
    k: Form
    batch: Form | None
    epilogue: Epilogue


def read_product(facts: Facts) -> Product:
    """The product; raises Unfit for a kernel that is none."""
    flat = list(flattened(Scope.of(facts), facts.kernel.body))
    loops = [(s, scope) for s, scope in flat if isinstance(s, Loop)]
    if len(loops) != 1:
        raise Unfit(f"{len(loops)} loops where a product has one over k (or over tiles of k)")
    loop, scope = loops[0]
    at = next(n for n, (s, _) in enumerate(flat) if s is loop)
    accumulator, left, right, whole = _contracted(facts, loop, scope)
    kind = sum_type(accumulator, [s for s, _ in flat[:at]])
    if kind not in ("float", "double"):
        raise Unfit(f"`{accumulator}` is {kind}: only sums in float are carried over")
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
    if facts.arrays[target.array].role == "inout":
        _whole_output(facts, inner, matched[0], row, column)
    epilogue = read_epilogue(facts, inner, accumulator, carried, store, row, column)
    return replace(matched[0], epilogue=epilogue)


def _whole_output(facts: Facts, scope: Scope, product: Product, row: Form, column: Form) -> None:
    """An output that holds something before may be updated in part: no guard may leave any out."""
    bounds = {(row, product.m), (column, product.n)}
    bounds.add((row * product.n + column, product.m * product.n))
    for statement in all_statements(facts.kernel.body):
        if not isinstance(statement, If):
            continue
        for test in comparisons(statement.test):
            sides = (scope.form(test.left), scope.form(test.right)) if test is not None else None
            if test is None or test.operator not in ("<", ">=") or sides not in bounds:
                raise Unfit("a guard may leave parts of an output out that is read and written")


def _contracted(facts: Facts, loop: Loop, scope: Scope) -> tuple[str, Place, Place, Form]:
    """Accumulator, both factors with `%k` in their index, and how long k is."""
    inner = [s for s in loop.body if isinstance(s, Loop)]
    if len(inner) == 1:
        return tiled(facts, loop, inner[0], scope)
    if inner:
        raise Unfit("the loop over k holds several loops")
    bound, step = scope.form(loop.bound), scope.form(loop.step)
    if (
        bound is None
        or step != Form.number(1)
        or scope.form(loop.first) != Form()
        or loop.inclusive
    ):
        raise Unfit("the loop over k does not go from 0 to a size in steps of 1")
    accumulator, factors, within_loop = multiplied(loop, scope.loop(loop))
    places = [within_loop.place(f) for f in factors]
    if any(p is None or p.array not in facts.inputs for p in places):
        raise Unfit("a factor is no element of an input with an affine index")
    renamed = {f"%{loop.variable}": Form.name(K)}
    left, right = (Place(p.array, p.index.substitute(renamed)) for p in places if p is not None)
    return accumulator, left, right, bound


def _matched(
    facts: Facts, one: Place, other: Place, target: Place, k: Form
) -> tuple[Product, Form, Form]:
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
    facts: Facts, left: Place, right: Place, target: Place, output: tuple[Form, ...], k: Form
) -> tuple[tuple[Operand, Operand], Form, Form] | None:
    m, n = output[-2:]
    a, b = _operand(facts, left, m, k), _operand(facts, right, n, k)
    if a is None or b is None:
        return None
    rest_a, rest_b = left.index.without(K), right.index.without(K)
    rows = (
        exact_quotient(rest_a, k) if a.k_contiguous else rest_a
    )  # batch * m + row, where A is M x K
    if rows is None or (not a.k_contiguous and len(output) == 3):
        return None
    column = target.index - rows * n
    beyond = rest_b - (column * k if b.k_contiguous else column)
    batch = exact_quotient(beyond, k * n)
    if batch is None:
        return None
    three = [len(facts.arrays[p.array].shape) == 3 for p in (left, right, target)]
    if any(three) != bool(batch.terms) or any(three) != all(three):
        return None
    names = rows.names | column.names
    if any(name.startswith("%") and name[1:] not in facts.spec.parameters for name in names):
        return None
    return (a, b), rows - batch * m, column


def _operand(facts: Facts, place: Place, outer: Form, k: Form) -> Operand | None:
    """The factor, if its shape and its step along k are those of an (outer, k) matrix."""
    shape = facts.shape(place.array)
    if shape is None or len(shape) not in (2, 3):
        return None
    step = place.index.coefficient(K)
    if shape[-2:] == (outer, k) and step == Form.number(1):
        return Operand(place.array, True)
    if shape[-2:] == (k, outer) and step == outer:
        return Operand(place.array, False)
    return None
