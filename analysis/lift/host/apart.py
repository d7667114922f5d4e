"""Whether the iterations of a loop may run in any order: no two of them touch one element of an
array of which one writes it.

The test is on indices that are sums of products: for one access of an iteration and one of another,
the difference of the indices is a sum of differences of loop counters, each with a stride. Strides
that are each larger than what all smaller ones together reach are digits of a number, so that equal
indices have equal counters. Everything else is not known to be apart. Sizes are taken to be not
negative, as everywhere in lifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..expressions import (
    ONE,
    ZERO,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    names_in,
    not_negative,
    parts,
    walk,
)
from ..rewriting import substitute
from ..statements import (
    Barrier,
    Body,
    Each,
    Opaque,
    Scatter,
    Statement,
    Store,
    When,
    defined,
    expressions_in,
    statements_in,
)
from ..sums import coefficient, difference, negated, product, terms_of, total

Loops = tuple[tuple[str, Expr], ...]
"""index and count of each, the outermost first"""


@dataclass(frozen=True, slots=True)
class Access:
    """One element that an iteration touches."""

    array: str
    index: Expr
    how: str
    """`read`, `write`, or what an atomic update does (`add`)"""
    loops: Loops
    """within the iteration, around it"""


def apart(loop: Each, around: Sequence[Expr] = ()) -> bool:
    """Whether it surely is so; `around`: counts of loops around it, which are at least one."""
    if loop.carried or any(isinstance(e, Opaque | Barrier) for e in statements_in(loop.body)):
        return False
    touched = tuple(accesses(loop.body))
    written = {each.array for each in touched if each.how != "read"}
    varying = _varying(loop.body)
    mine = [each for each in touched if each.array in written]
    return all(
        never_meet(one, other, loop, varying, around)
        for place, one in enumerate(mine)
        for other in mine[place:]
        if one.array == other.array and (one.how, other.how) != ("read", "read")
        if one.how != other.how or one.how == "write"
    )


def accesses(body: Body, loops: Loops = ()) -> Iterator[Access]:
    """Every access of statements."""
    for each in body:
        around = (*loops, (each.index, each.count)) if isinstance(each, Each) else loops
        for expr in expressions_in((_alone(each),)):
            yield from _reads(expr, around)
        match each:
            case Each(_, _, _, inner):
                yield from accesses(inner, around)
            case When(_, yes, no):
                yield from accesses((*yes, *no), loops)
            case Store(array, index, _):
                yield Access(array, index, "write", loops)
            case Scatter(op, array, index, _):
                yield Access(array, index, op, loops)
            case _:
                pass


def _alone(statement: Statement) -> Statement:
    """A statement without those within it."""
    if isinstance(statement, When):
        return replace(statement, yes=(), no=())
    return replace(statement, body=()) if isinstance(statement, Each) else statement


def _reads(expr: Expr, loops: Loops) -> Iterator[Access]:
    if isinstance(expr, Load):
        yield Access(expr.array, expr.index, "read", loops)
    within = (*loops, (expr.index, expr.count)) if isinstance(expr, Fold) else loops
    for part in parts(expr):
        yield from _reads(part, within)


def _varying(body: Body) -> frozenset[str]:
    """Names that are given in the iteration: by `let`, or carried by a loop within it."""
    found = defined(body)
    for expr in expressions_in(body):
        for part in walk(expr):
            if isinstance(part, Fold):
                found |= {carried.name for carried in part.carried}
    return frozenset(found)


def never_meet(
    one: Access, other: Access, loop: Each, varying: frozenset[str], around: Sequence[Expr]
) -> bool:
    """Whether the accesses are of different elements in different iterations of the loop."""
    if (names_in(one.index) | names_in(other.index)) & varying:
        return False
    left, right = _strides(one, loop), _strides(other, loop)
    if left is None or right is None:
        return False
    known = {loop.index, *(name for name, _ in (*one.loops, *other.loops))}
    offset = difference(left.rest, right.rest)
    if names_in(offset) & known or left.digits[0] != right.digits[0]:
        return False
    mine, shared = left.digits[0], list[_Digit]()
    alone, others = list[_Digit](), list(right.digits[1:])
    for each in left.digits[1:]:
        if each in others:
            others.remove(each)
            shared.append(each)
        else:
            alone.append(each)
    runs = _at_least([*around, loop.count, *(n for a in (one, other) for _, n in a.loops)])
    above = total((offset, *(each.reach for each in alone)))
    below = total((negated(offset), *(each.reach for each in others)))
    return _digits_decide(mine, shared, (above, below), runs)


def _at_least(counts: Iterable[Expr]) -> dict[str, Expr]:
    """Sizes as what they surely are and something more, where loops of these counts run at all."""
    found = dict[str, int]()
    for count in counts:
        terms = terms_of(count)
        ((factors, number), *more) = terms.items() if terms else [((), 1)]
        named = [f.name for f in factors if isinstance(f, Name) and not f.name.startswith("~")]
        if len(named) != len(factors) or number < 1 or any(factors for factors, _ in more):
            continue
        least = 1 - sum(n for _, n in more) if number == 1 and len(named) == 1 else 1
        for name in named:
            found[name] = max(found.get(name, 0), least)
    return {name: total((Name(name), Number(n))) for name, n in found.items() if n > 0}


@dataclass(frozen=True, slots=True)
class _Digit:
    """A counter with its stride; strides are not negative."""

    stride: Expr
    count: Expr

    @property
    def reach(self) -> Expr:
        """What it adds at most."""
        return product(self.stride, total((self.count, Number(-1))))


@dataclass(frozen=True, slots=True)
class _Strides:
    digits: tuple[_Digit, ...]
    """the loop's own first"""
    rest: Expr


def _strides(access: Access, loop: Each) -> _Strides | None:
    """An index as strides of counters. A count that hangs on an outer counter is at most what it is
    at that one's end; a stride below zero counts from the other end."""
    at, ends, digits = access.index, dict[str, Expr](), dict[str, _Digit]()
    for name, count in ((loop.index, loop.count), *access.loops):
        most = _largest(count, ends)
        if most is None:
            return None
        ends[name] = total((most, Number(-1)))
        found = coefficient(at, name)
        if found is None:
            return None
        stride, rest = found
        if not not_negative(stride):
            back = negated(stride)
            if not not_negative(back) or ends.keys() & names_in(count):
                return None
            stride, rest = back, total((rest, product(found[0], ends[name])))
        digits[name] = _Digit(stride, most)
        at = rest
    if any(names_in(each.stride) & ends.keys() for each in digits.values()):
        return None
    own = digits.pop(loop.index)
    return _Strides((own, *(d for d in digits.values() if d.stride != ZERO)), at)


def _largest(count: Expr, ends: Mapping[str, Expr]) -> Expr | None:
    """A count where outer counters make it largest; None where that is not seen."""
    for name in reversed(tuple(ends)):
        if name not in names_in(count):
            continue
        found = coefficient(count, name)
        if found is None:
            return None
        slope, rest = found
        if not_negative(slope):
            count = total((rest, product(slope, ends[name])))
        elif not_negative(negated(slope)):
            count = rest
        else:
            return None
    return count


def _digits_decide(
    mine: _Digit, shared: list[_Digit], offsets: tuple[Expr, Expr], runs: Mapping[str, Expr]
) -> bool:
    """Whether the loop's own counter is the same wherever the indices are. Counters of both
    accesses that are smaller digits need not be told apart; those above have to be."""

    def exceeds(digit: _Digit, spread: list[Expr]) -> bool:
        reach = total(spread)
        over = (difference(digit.stride, total((ONE, each, reach))) for each in offsets)
        return all(not_negative(substitute(each, runs)) for each in over)

    for smaller in _ways(shared):
        spread = [each.reach for each in smaller]
        left = [mine, *(each for each in shared if each not in smaller)]
        up: _Digit | None = mine if exceeds(mine, spread) else None
        while up is not None:
            left.remove(up)
            spread.append(up.reach)
            up = next((each for each in left if exceeds(each, spread)), None)
        if not left:
            return True
    return False


def _ways(digits: list[_Digit]) -> Iterator[list[_Digit]]:
    """Which digits are smaller than the loop's own: every choice, for the few that there are."""
    few = digits[:6]
    for chosen in range(1 << len(few)):
        yield [each for n, each in enumerate(few) if chosen >> n & 1] + digits[6:]
