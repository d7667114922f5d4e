"""What the mask of a load or store keeps its lanes below."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...shared.affine import Form
from .nodes import walk
from .source import argument, is_call
from .values import Values, lanes

Bound = tuple[Form, Form]
"""`left < right`"""


def stays_below(values: Values, access: ast.Call, size: str) -> bool:
    """Whether a mask keeps an access's lanes below a size; one without lanes needs none."""
    at = values.statement(access)
    pointer = argument(access, 0, "pointer")
    if pointer is None or not _has_lanes(values, pointer, at):
        return True
    limit = Form.name(size)
    return any(b is not None and lanes(b[0]) and b[1] == limit for b in bounds_of(values, access))


def _has_lanes(values: Values, node: ast.expr, at: ast.stmt) -> bool:
    return any(is_call(n, "arange") for n in walk(values.expanded(node, at)))


def bounds_of(values: Values, access: ast.Call, *, always: bool = True) -> list[Bound | None]:
    """Each comparison of a mask; None for what is another condition.

    Without `always` the mask may be one that some launches leave out, as they need none.
    """
    at = values.statement(access)
    mask = argument(access, 2 if is_call(access, "store", "atomic_add") else 1, "mask")
    if isinstance(mask, ast.IfExp) and not always:
        mask = mask.orelse
    return [] if mask is None else list(_compared(values, mask, at))


def _compared(values: Values, node: ast.expr, at: ast.stmt) -> Iterator[Bound | None]:
    node, at = values.resolved(node, at)
    match node:
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            yield from _compared(values, left, at)
            yield from _compared(values, right, at)
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() as less], comparators=[right]):
            yield _bound(values.form(left, at), values.form(right, at), less)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() as more], comparators=[right]):
            yield _bound(values.form(right, at), values.form(left, at), more)
        case _:
            yield None


def _bound(left: Form | None, right: Form | None, order: ast.cmpop) -> Bound | None:
    """Of integers: `a <= b` is `a < b + 1`."""
    if left is None or right is None:
        return None
    with_equal = isinstance(order, ast.LtE | ast.GtE)
    return left, right + Form.number(1) if with_equal else right


def follow(wanted: tuple[Form | None, ...], given: tuple[Form | None, ...]) -> bool:
    """Whether all of `wanted` hold (are at least 1) wherever all of `given` do; None: unknown."""
    return all(w is not None and implied(w, given) for w in wanted)


def implied(wanted: Form, given: tuple[Form | None, ...]) -> bool:
    """Whether a form is at least 1 where the given ones are."""
    more = ((wanted - g).constant for g in given if g is not None)
    return any(constant is not None and constant >= 0 for constant in more)
