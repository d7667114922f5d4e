"""Conditions that follow from others: what holds around an expression is not asked again in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .expressions import (
    FALSE,
    TRUE,
    Call,
    Carried,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    all_of,
    call,
    conjuncts,
    names_in,
    negation,
    not_negative,
    walk,
)
from .fold_laws import at_most_once, begun_anew, bound_of, excess, merged, rounded_up
from .folding import fold_of
from .rewriting import rebuilt, remade, substitute
from .statements import (
    Body,
    Each,
    Let,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    either,
    expressions_in,
)
from .sums import difference, negated, product, total

Facts = tuple[Expr, ...]


def follows(condition: Expr, fact: Expr) -> bool:
    """Whether a condition surely holds where a fact does."""
    if condition == fact:
        return True
    one, other = excess(condition), excess(fact)
    return one is not None and other is not None and not_negative(difference(other, one))


def decided(condition: Expr, facts: Sequence[Expr]) -> Expr:
    """The condition without what facts say."""
    if isinstance(condition, Call) and condition.op in ("and", "or"):
        left, right = condition.args
        if condition.op == "and":
            less = decided(left, conjuncts(right))
            if less != decided(left, ()):  # what is true where the other is, is asked after it
                left, right = right, less
        with_left = (*facts, *conjuncts(left if condition.op == "and" else negation(left)))
        made = call(condition.op, decided(left, facts), decided(right, with_left), dtype="bool")
        return _shorter(made)
    opposite = negation(condition)
    for fact in facts:
        if follows(condition, fact):
            return TRUE
        if follows(opposite, fact):
            return FALSE
    if (only := _only_value(condition, facts)) is not None:
        return only
    positive = excess(condition)
    if positive is not None and not_negative(negated(positive)):
        return TRUE
    if positive is not None and not_negative(total((positive, Number(-1)))):
        return FALSE
    return condition


def _only_value(condition: Expr, facts: Sequence[Expr]) -> Expr | None:
    """`x >= 31` where x is below 32."""
    if not isinstance(condition, Call) or condition.op not in ("ge", "gt"):
        return None
    left, right = condition.args
    if not isinstance(left, Name) or not isinstance(right, Number):
        return None
    last = Number(int(right.value) + (condition.op == "gt"))
    end = call("lt", left, Number(int(last.value) + 1), dtype="bool")
    return call("eq", left, last, dtype="bool") if end in facts else None


def _shorter(condition: Expr) -> Expr:
    """A conjunction without what follows from its other parts."""
    kept = _together(conjuncts(condition))
    for each in tuple(kept):
        if any(follows(each, other) for other in kept if other is not each):
            kept = [other for other in kept if other is not each]
    return all_of(tuple(kept)) if len(kept) < len(conjuncts(condition)) else condition


def _together(conditions: Sequence[Expr]) -> list[Expr]:
    """Parts that say of what is never negative that it is zero, as one."""
    zero, rest, parts = Number(0), list[Expr](), list[Expr]()
    for each in conditions:
        over = excess(each)
        if over is not None and not isinstance(over, Number) and not_negative(over):
            parts.append(over)
        else:
            rest.append(each)
    return (
        [*rest, call("le", total(parts), zero, dtype="bool")]
        if len(parts) > 1
        else list(conditions)
    )


def simplified(expr: Expr, facts: Facts) -> Expr:
    """The expression where facts hold."""
    match expr:
        case Call("select", (condition, yes, no), dtype):
            known = decided(simplified(condition, facts), facts)
            one = yes if known == FALSE else simplified(yes, (*facts, *conjuncts(known)))
            negated = conjuncts(negation(known))
            other = no if known == TRUE else simplified(no, (*facts, *negated))
            return _chosen(known, one, other, dtype)
        case Call("div" | "rem" as op, (value, by), "int"):
            value, by = simplified(value, facts), simplified(by, facts)
            small = call("lt", value, by, dtype="bool")
            if not_negative(value) and any(follows(small, fact) for fact in facts):
                return value if op == "rem" else Number(0)
            return remade(op, (value, by), "int")
        case Call("min", (left, right), "int"):
            left, right = simplified(left, facts), simplified(right, facts)
            for one, other in ((left, right), (right, left)):
                less = call("le", one, other, dtype="bool")
                if any(follows(less, fact) for fact in facts):
                    return one
            return call("min", left, right, dtype="int")
        case Call("and" | "or" | "not" | "lt" | "le" | "gt" | "ge" | "eq" | "ne"):
            return decided(rebuilt(expr, lambda part: simplified(part, facts)), facts)
        case Fold(_, index, count, carried, which):
            if (size := _of_one_block(count, facts)) is not None:
                count, first = at_most_once(size), {index: Number(0)}
                carried = tuple(replace(c, next=substitute(c.next, first)) for c in carried)
            within = (*facts, call("lt", Name(index), count, dtype="bool"))
            made = {
                each.name: begun_anew(
                    Carried(
                        each.name,
                        each.dtype,
                        simplified(each.first, facts),
                        simplified(each.next, within),
                    )
                )
                for each in carried
            }
            name = carried[which].name
            return merged(fold_of(name, made, index, simplified(count, facts)))
        case _:
            return rebuilt(expr, lambda part: simplified(part, facts))


def _of_one_block(count: Expr, facts: Facts) -> Expr | None:
    """`n` of `(n + 63) / 64` where facts say that n is not more than 64."""
    if not isinstance(count, Call) or count.op != "div" or not isinstance(count.args[1], Number):
        return None
    block = count.args[1]
    size = total((count.args[0], Number(1 - int(block.value))))
    fits = call("le", size, block, dtype="bool")
    return size if any(follows(fits, fact) for fact in facts) else None


def _loop_of_one_block(loop: Each, facts: Facts) -> Each | None:
    """The loop through a block, of one over blocks of which facts say that there is one at most."""
    size = _of_one_block(loop.count, facts)
    if size is None or loop.carried or not any(isinstance(each, Each) for each in loop.body):
        return None
    first = {loop.index: Number(0)}
    body = settled(changed(loop.body, lambda e: substitute(e, first)), facts)
    only = body[0] if len(body) == 1 else None
    return only if isinstance(only, Each) and only.count == size else None


def _pinned(condition: Expr) -> dict[str, Expr]:
    """Coordinates that a condition leaves one value."""
    found = dict[str, Expr]()
    for each in conjuncts(condition):
        match each:
            case Call("eq", (Name(name), Number() as number)):
                found[name] = number
            case Call("lt", (Name(name), Number(1))) if not name.startswith("~"):
                found[name] = Number(0)
            case _:
                pass
    return found


def _chosen(condition: Expr, yes: Expr, no: Expr, dtype: str) -> Expr:
    """Two conditions for one other value are a single one."""
    if isinstance(yes, Call) and yes.op == "select":
        pinned = _pinned(condition)
        inner, *sides = yes.args
        if pinned and sides[1] == substitute(no, pinned):
            yes = Call("select", (inner, sides[0], no), yes.dtype)
        elif pinned and sides[0] == substitute(no, pinned):
            yes = Call("select", (inner, no, sides[1]), yes.dtype)
    if isinstance(yes, Call) and yes.op == "select" and yes.args[2] == no:
        both = _shorter(call("and", condition, yes.args[0], dtype="bool"))
        return call("select", both, yes.args[1], no, dtype=yes.dtype)
    if isinstance(yes, Call) and yes.op == "select" and yes.args[1] == no:
        both = _shorter(call("and", condition, negation(yes.args[0]), dtype="bool"))
        return call("select", both, yes.args[2], no, dtype=yes.dtype)
    return call("select", condition, yes, no, dtype=yes.dtype)


def settled(body: Body, facts: Facts = ()) -> Body:
    """The statements without conditions that hold anyway."""
    out = list[Statement]()
    for each in body:
        match each:
            case Store(array, index, value):
                out.append(Store(array, simplified(index, facts), simplified(value, facts)))
            case Scatter(op, array, index, value):
                out.append(Scatter(op, array, simplified(index, facts), simplified(value, facts)))
            case Let(name, value):
                out.append(Let(name, simplified(value, facts)))
            case When(condition, yes, no):
                out += _when(decided(simplified(condition, facts), facts), yes, no, facts)
            case Each(index, count, _, inner):
                if (only := _loop_of_one_block(each, facts)) is not None:
                    out.append(only)
                    continue
                end = simplified(count, facts)
                within = (*facts, call("lt", Name(index), end, dtype="bool"))
                carried = tuple(
                    replace(c, first=simplified(c.first, facts), next=simplified(c.next, within))
                    for c in each.carried
                )
                body = settled(inner, within)
                made = _one_loop(replace(each, count=end, carried=carried, body=body), facts)
                out.append(_around(made))
            case _:
                out.append(each)
    return _under_one_condition(out)


def _under_one_condition(body: Sequence[Statement]) -> Body:
    """Neighbours under one condition, which nothing that they store can change, as one; and what is
    read for them alone among them."""
    out = list[Statement]()
    for each in body:
        last = out[-1] if out else None
        if (
            isinstance(each, When)
            and isinstance(last, When)
            and each.condition == last.condition
            and not any(isinstance(part, Load) for part in walk(each.condition))
        ):
            out[-1] = When(each.condition, (*last.yes, *each.yes), (*last.no, *each.no))
        elif last is not None and (one := either(last, each)) is not None:
            out[-1] = one
        else:
            out.append(each)
    for at, each in enumerate(out):
        if isinstance(each, When) and not each.no:
            return _with_its_values(out, at, each)
    return tuple(out)


def _with_its_values(body: Sequence[Statement], at: int, when: When) -> Body:
    """The statements with what is read right before a condition, and used under it alone, there."""
    first, inside = at, when.yes
    others = {n for e in expressions_in((*body[:at], *body[at + 1 :])) for n in names_in(e)}
    others |= names_in(when.condition)
    while first > 0:
        before = body[first - 1]
        if not isinstance(before, Let) or before.name in others:
            break
        value = simplified(before.value, conjuncts(when.condition))
        if value == before.value:
            break
        inside, first = (replace(before, value=value), *inside), first - 1
    return (*body[:first], replace(when, yes=inside), *body[at + 1 :])


def _around(loop: Each) -> Statement:
    """A loop all of whose body hangs on what is the same in every turn, under that condition."""
    match loop.body:
        case (When(condition, yes, ()),) if not loop.carried:
            still = [
                part
                for part in conjuncts(condition)
                if loop.index not in names_in(part)
                and not any(isinstance(each, Load) for each in walk(part))
            ]
            if not still:
                return loop
            rest = all_of(tuple(part for part in conjuncts(condition) if part not in still))
            inner = yes if rest == TRUE else (When(rest, yes, ()),)
            return When(all_of(tuple(still)), (replace(loop, body=inner),), ())
        case _:
            return loop


def _one_loop(loop: Each, facts: Facts = ()) -> Each:
    """A loop that is all of another one's body, and the other one, as a single loop; and one that
    does nothing from some index on, without those."""
    if loop.carried or len(loop.body) != 1:
        return loop
    (only,) = loop.body
    if isinstance(only, Each) and not only.carried and loop.index not in names_in(only.count):
        instead = difference(Name(only.index), product(only.count, Name(loop.index)))
        made = changed(only.body, lambda e: substitute(e, {only.index: instead}))
        if loop.index not in {n for e in expressions_in(made) for n in names_in(e)}:
            end = product(only.count, loop.count)
            both = loop.apart and only.apart
            return _one_loop(Each(only.index, end, (), settled(made), both))
    if isinstance(only, When) and not only.no:
        kept = list(conjuncts(only.condition))
        for each in kept:
            end = bound_of(each, loop.index)
            if end is None or loop.index in names_in(end):
                continue
            within = call("le", end, loop.count, dtype="bool")
            if rounded_up(loop.count, end) or any(follows(within, fact) for fact in facts):
                rest = all_of(tuple(part for part in kept if part is not each))
                body = only.yes if rest == TRUE else (replace(only, condition=rest),)
                return replace(loop, count=end, body=body)
    return loop


def _when(condition: Expr, yes: Body, no: Body, facts: Facts) -> Body:
    if isinstance(condition, Number):
        return settled(yes if condition.value else no, facts)
    one = settled(yes, (*facts, *conjuncts(condition)))
    other = settled(no, (*facts, *conjuncts(negation(condition))))
    if not one and not other:
        return ()
    match one, other:
        case (When(inner, yes, ()),), () if not any(isinstance(e, Load) for e in walk(inner)):
            both = call("and", condition, inner, dtype="bool")
            return (When(_shorter(both), yes, ()),)
        case _:
            pass
    return (When(condition, one, other) if one else When(negation(condition), other, ()),)
