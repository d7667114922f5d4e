"""Integers as sums of products, each in one form: `n*i + j`, `4*(n/2) - 1`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .expressions import Call, Expr, Name, Number, Pointer, Sum, Unreadable, names_in

Terms = Mapping[tuple[Expr, ...], int]
MAX_TERMS = 64


def terms_of(expr: Expr) -> Terms:
    """The products of an integer with their numbers; of what is no sum, itself once."""
    match expr:
        case Number(value):
            return {(): int(value)} if value else {}
        case Sum(terms):
            return dict(terms)
        case _:
            return {(expr,): 1}


def from_terms(terms: Terms) -> Expr:
    """The integer with these products."""
    kept = _whole({factors: number for factors, number in terms.items() if number})
    if len(kept) > MAX_TERMS:
        raise Unreadable("an index is a sum of too many products")
    if not kept:
        return Number(0)
    if len(kept) == 1:
        ((factors, number),) = kept.items()
        if not factors:
            return Number(number)
        if number == 1 and len(factors) == 1:
            return factors[0]
    ordered = sorted(kept.items(), key=lambda each: (-len(each[0]), _key(each[0])))
    return Sum(tuple(ordered))


def _whole(terms: dict[tuple[Expr, ...], int]) -> dict[tuple[Expr, ...], int]:
    """`m*(x/m) + x%m` is x, whatever multiplies both."""
    for factors, number in tuple(terms.items()):
        for place, factor in enumerate(factors):
            if not (isinstance(factor, Call) and factor.op == "rem"):
                continue
            value, by = factor.args
            others = (*factors[:place], *factors[place + 1 :])
            if not isinstance(by, Number) or factors not in terms:
                continue
            other = tuple(sorted((*others, Call("div", (value, by), "int")), key=_word))
            if terms.get(other) != number * int(by.value):
                continue
            del terms[factors], terms[other]
            for more, times in terms_of(value).items():
                made = tuple(sorted((*others, *more), key=_word))
                terms[made] = terms.get(made, 0) + number * times
            return _whole({key: count for key, count in terms.items() if count})
    return terms


def _key(factors: tuple[Expr, ...]) -> tuple[str, ...]:
    return tuple(_word(each) for each in factors)


def _word(factor: Expr) -> str:
    return factor.name if isinstance(factor, Name) else f"~{factor!r}"


def total(addends: Iterable[Expr]) -> Expr:
    """The sum; of an address and integers, the address moved by them."""
    found, array = dict[tuple[Expr, ...], int](), ""
    for each in addends:
        inner = each
        if isinstance(inner, Pointer):
            if array:
                raise Unreadable("two addresses are added")
            array, inner = inner.array, inner.offset
        for factors, number in terms_of(inner).items():
            found[factors] = found.get(factors, 0) + number
    offset = from_terms(found)
    return Pointer(array, offset) if array else offset


def product(*factors: Expr) -> Expr:
    """The product."""
    found: dict[tuple[Expr, ...], int] = {(): 1}
    for each in factors:
        if isinstance(each, Pointer):
            raise Unreadable("an address is multiplied")
        made = dict[tuple[Expr, ...], int]()
        for left, one in found.items():
            for right, other in terms_of(each).items():
                both = tuple(sorted((*left, *right), key=_word))
                made[both] = made.get(both, 0) + one * other
        found = made
    return from_terms(found)


def negated(expr: Expr) -> Expr:
    """Minus the integer."""
    return product(Number(-1), expr)


def difference(left: Expr, right: Expr) -> Expr:
    """`left - right`; of two addresses in one array, the bytes between them."""
    if isinstance(left, Pointer) and isinstance(right, Pointer) and left.array == right.array:
        return difference(left.offset, right.offset)
    return total((left, negated(right)))


def divided(expr: Expr, by: int) -> Expr | None:
    """The quotient where every product is a multiple; None where one is not."""
    terms = terms_of(expr)
    if any(number % by for number in terms.values()):
        return None
    return from_terms({factors: number // by for factors, number in terms.items()})


def coefficient(expr: Expr, name: str) -> tuple[Expr, Expr] | None:
    """(`a`, `b`) with `expr == a * name + b`, neither with the name; None where it is not so."""
    wanted = Name(name)
    inside, outside = dict[tuple[Expr, ...], int](), dict[tuple[Expr, ...], int]()
    for factors, number in terms_of(expr).items():
        if wanted in factors:
            left = list(factors)
            left.remove(wanted)
            inside[tuple(left)] = number
        else:
            outside[factors] = number
    found = from_terms(inside), from_terms(outside)
    return None if any(name in names_in(each) for each in found) else found
