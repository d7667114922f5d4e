"""What a loop's carried values become: counters in closed form, the rest classified; and how often
a loop runs, from what holds while it goes on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .expressions import (
    Call,
    Carried,
    DType,
    Expr,
    Fold,
    Name,
    Number,
    Sum,
    Unreadable,
    call,
    conjuncts,
    names_in,
    negation,
    not_negative,
)
from .rewriting import substitute
from .sums import coefficient, difference, divided, negated, product, total

_TURNED = {"gt": "lt", "ge": "le"}
_COMBINERS = {"max": "max", "min": "min", "mul": "product", "add": "sum"}


def closed_forms(
    firsts: Mapping[str, Expr], nexts: Mapping[str, Expr], index: str, varying: frozenset[str]
) -> dict[str, Expr]:
    """The carried values that the number of the iteration says: those that do not change, counters,
    and what is the value of an iteration before.

    `varying`: names that have another value in every iteration.
    """
    known = dict[str, Expr]()
    k = Name(index)
    while True:
        left = {name: substitute(each, known) for name, each in nexts.items() if name not in known}
        moving = varying | left.keys()
        found = dict[str, Expr]()
        for name, following in left.items():
            made = _closed(name, firsts[name], following, k, moving)
            if made is not None:
                found[name] = made
        if not found:
            return known
        known |= found


def _closed(
    name: str, first: Expr, following: Expr, k: Name, moving: frozenset[str] | set[str]
) -> Expr | None:
    if isinstance(following, Name) and following.name == name:
        return first
    if following.dtype != "int":
        return None
    if not names_in(following) & moving:
        before = substitute(following, {k.name: total((k, Number(-1)))})
        return before if substitute(before, {k.name: Number(0)}) == first else None
    found = coefficient(following, name)
    if found is None or found[0] != Number(1):
        return None
    step = found[1]
    if names_in(step) & (moving | {k.name}):
        return None
    return total((first, product(k, step)))


def fold_of(name: str, carried: Mapping[str, Carried], index: str, count: Expr) -> Fold:
    """What a loop leaves in a carried value, with those others that it depends on."""
    needed, pending = list[str](), [name]
    while pending:
        here = pending.pop(0)
        if here in carried and here not in needed:
            needed.append(here)
            pending += sorted(names_in(carried[here].next))
    chosen = tuple(carried[each] for each in needed)
    return Fold(_kind(chosen), index, count, chosen, 0)


def _kind(carried: tuple[Carried, ...]) -> str:
    if len(carried) == 1:
        combined = combination(carried[0])
        return "recurrence" if combined is None else combined[0]
    if len(carried) == 2:
        return _pair(carried)
    return "recurrence"


def combination(carried: Carried) -> tuple[str, Expr] | None:
    """(`sum`, what an iteration adds), and so on; None where it is no such combination."""
    name, following = carried.name, carried.next
    if isinstance(following, Sum):
        found = coefficient(following, name)
        fits = found is not None and found[0] == Number(1)
        return ("sum", found[1]) if found is not None and fits else None
    if not isinstance(following, Call):
        return None
    if following.op == "select":
        return _chosen(carried, following)
    if following.op == "fma" and following.args[2] == Name(name, carried.dtype):
        left, right = following.args[:2]
        term = Call("mul", (left, right), carried.dtype)
        return None if name in names_in(term) else ("sum", term)
    if following.op == "sub":
        inner, taken = following.args
        found = combination(Carried(name, carried.dtype, carried.first, inner))
        if inner == Name(name, carried.dtype):
            found = ("sum", Number(0.0, carried.dtype))
        if found is None or found[0] != "sum" or name in names_in(taken):
            return None
        return "sum", _plus(found[1], Call("neg", (taken,), carried.dtype))
    if following.op not in _COMBINERS or len(following.args) != 2:
        return None
    return _leaf(following.op, carried, following)


def _leaf(op: str, carried: Carried, following: Call) -> tuple[str, Expr] | None:
    """The other operands of a chain of one operation in which the value stands once."""
    mine = [each for each in following.args if carried.name in names_in(each)]
    if len(mine) != 1:
        return None
    other = next(each for each in following.args if each is not mine[0])
    if mine[0] == Name(carried.name, carried.dtype):
        return _COMBINERS[op], other
    found = combination(Carried(carried.name, carried.dtype, carried.first, mine[0]))
    if found is None or found[0] != _COMBINERS[op]:
        return None
    joined = _plus(found[1], other) if op == "add" else Call(op, (found[1], other), carried.dtype)
    return found[0], joined


def _plus(left: Expr, right: Expr) -> Expr:
    zero = isinstance(left, Number) and left.value == 0
    return right if zero else Call("add", (left, right), left.dtype)


def _chosen(carried: Carried, following: Call) -> tuple[str, Expr] | None:
    """`x > m ? x : m` is a maximum; `p ? s + x : s` a sum of x or nothing, and so with others."""
    condition, yes, no = following.args
    mine = Name(carried.name, carried.dtype)
    order = _order(condition, yes, no)
    if order is not None and mine in (yes, no):
        other = no if yes == mine else yes
        return None if carried.name in names_in(other) else (order, other)
    if yes == mine:
        condition, yes, no = negation(condition), no, yes
    if carried.name in names_in(condition) or no != mine:
        return None
    found = combination(Carried(carried.name, carried.dtype, carried.first, yes))
    number = None if found is None else neutral(found[0], carried.dtype)
    if found is None or number is None:
        return None
    return found[0], Call("select", (condition, found[1], number), carried.dtype)


def neutral(kind: str, dtype: DType) -> Number | None:
    """What changes nothing in such a fold; None where integers of no width would have it."""
    if dtype == "int":
        return {"sum": Number(0), "product": Number(1)}.get(kind)
    values = {"sum": 0.0, "product": 1.0, "max": -math.inf, "min": math.inf}
    return Number(values[kind], dtype) if kind in values else None


def _order(condition: Expr, yes: Expr, no: Expr) -> str | None:
    """max where the greater of two is taken, min where the smaller is."""
    if not isinstance(condition, Call) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    if condition.args == (yes, no):
        return "max" if condition.op[0] == "g" else "min"
    if condition.args == (no, yes):
        return "min" if condition.op[0] == "g" else "max"
    return None


def _pair(carried: tuple[Carried, ...]) -> str:
    """argmax or argmin of a value and where it was found, in either order."""
    for best, place in (carried, carried[::-1]):
        if not (isinstance(best.next, Call) and isinstance(place.next, Call)):
            continue
        found = combination(best)
        if found is None or found[0] not in ("max", "min") or place.next.op != "select":
            continue
        condition, chosen, kept = place.next.args
        alike = condition == best.next.args[0] or _is_better(condition, best, *found)
        both = alike and kept == Name(place.name, place.dtype)
        if both and not {best.name, place.name} & names_in(chosen):
            return f"arg{found[0]}"
    return "recurrence"


def _is_better(condition: Expr, best: Carried, kind: str, value: Expr) -> bool:
    """Whether a condition says that a value is beyond the best so far."""
    mine = Name(best.name, best.dtype)
    orders = [(value, mine, "g"), (mine, value, "l")]
    if kind == "min":
        orders = [(mine, value, "g"), (value, mine, "l")]
    return isinstance(condition, Call) and any(
        condition.op in (f"{sign}t", f"{sign}e") and condition.args == (one, other)
        for one, other, sign in orders
    )


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


def ended(stay: Expr, index: str) -> tuple[Expr, tuple[Expr, ...]]:
    """How often a loop runs by what of its test is on a counter, and on what other conditions it
    ends earlier. Raises Unreadable where nothing of it is on a counter."""
    counts, others, why = list[Expr](), list[Expr](), Unreadable("a loop without an end")
    for each in conjuncts(stay):
        try:
            counts.append(count_of(each, index))
        except Unreadable as error:
            why = error
            others.append(negation(each))
    if not counts:
        raise why
    count = counts[0]
    for each in counts[1:]:
        count = call("min", count, each, dtype="int")
    return count, tuple(others)


def first_of(conditions: Sequence[Expr], index: str, count: Expr) -> Expr:
    """The least `index` below a count at which a condition holds, else the count."""
    inner, least = f"{index}b", f"~{index}"
    leave = conditions[0]
    for each in conditions[1:]:
        leave = call("or", leave, each, dtype="bool")
    leave = substitute(leave, {index: Name(inner)})
    here = call("select", leave, Name(inner), count, dtype="int")
    smaller = Call("min", (Name(least), here), "int")
    return Fold("min", inner, count, (Carried(least, "int", count, smaller),), 0)


def _until_equal(step: Expr, start: Expr) -> Expr:
    if isinstance(step, Number) and step.value < 0:
        step, start = negated(step), negated(start)
    if isinstance(step, Number) and (whole := divided(negated(start), int(step.value))) is not None:
        return whole
    raise Unreadable("a loop that ends when its counter meets a number")
