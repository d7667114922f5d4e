"""How often a loop runs, from what holds while it goes on."""

from __future__ import annotations

from .expressions import Call, Expr, Number, Unreadable, call, names_in, not_negative
from .sums import coefficient, difference, divided, negated, total

_TURNED = {"gt": "lt", "ge": "le"}


def count_of(stay: Expr, index: str) -> Expr:
    """For how many values of `index` from 0 on `stay` holds without a break; negative: for none.

    A step that is no number is taken to be positive (a number of threads). Raises Unreadable for
    what is no comparison of a counter with a bound.
    """
    if not isinstance(stay, Call) or stay.op not in ("lt", "le", "gt", "ge", "ne"):
        raise Unreadable("a loop that ends by something else than a counter")
    left, right = stay.args
    if left.dtype != "int":
        raise Unreadable("a loop that ends by a comparison of floats")
    if index not in names_in(stay):
        raise Unreadable("a loop whose end does not depend on its counter")
    distance = difference(left, right)
    found = coefficient(distance, index)
    if found is None:
        raise Unreadable("a loop whose counter does not go by even steps")
    step, start = found
    op = stay.op
    if op in _TURNED:
        op, step, start = _TURNED[op], negated(step), negated(start)
    if op == "ne":
        return _until_equal(step, start)
    if op == "le":
        start = total((start, Number(-1)))
    if (isinstance(step, Number) and step.value <= 0) or not not_negative(step):
        raise Unreadable("a loop that goes away from its bound")
    if step == Number(1):
        return negated(start)
    return call("div", total((negated(start), step, Number(-1))), step, dtype="int")


def _until_equal(step: Expr, start: Expr) -> Expr:
    if isinstance(step, Number) and step.value < 0:
        step, start = negated(step), negated(start)
    if isinstance(step, Number) and (whole := divided(negated(start), int(step.value))) is not None:
        return whole
    raise Unreadable("a loop that ends when its counter meets a number")
