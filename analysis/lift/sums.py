"""Integers as sums of products, each in one form: `n*i + j`, `4*(n/2) - 1`; and as packs.

A pack is several short elements in one register: a `__half2`, four bytes, what a vector load of 16
bytes brings. It is only there while a kernel is read: `pack2(low, high)` is an operation on values
of 2 bytes each, the one at the lower address first, and its parts are values of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .expressions import (
    ZERO,
    Call,
    Expr,
    Name,
    Number,
    Pointer,
    Sum,
    Unreadable,
    call,
    names_in,
    not_negative,
)

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


def packed(parts: Sequence[Expr], nbytes: int) -> Expr:
    """One value of neighbouring ones of `nbytes` each."""
    return parts[0] if len(parts) == 1 else Call(f"pack{nbytes}", tuple(parts), "int")


def width_of(value: Expr) -> int:
    """Bytes of a part of a pack; 0: it is none."""
    if isinstance(value, Call) and value.op == "bits":
        return width_of(value.args[0])
    return int(value.op[4:]) if isinstance(value, Call) and value.op[:4] == "pack" else 0


def unpacked(value: Expr, nbytes: int, count: int) -> list[Expr] | None:
    """The `count` parts of `nbytes` each that a value is made of; None where they are not known."""
    if count == 1 and not width_of(value):
        return [value]
    if isinstance(value, Number) and value.dtype == "int":
        bits = int(value.value) % (1 << 8 * nbytes * count)
        mask = (1 << 8 * nbytes) - 1
        return [Number(bits >> 8 * nbytes * at & mask) for at in range(count)]
    if isinstance(value, Call) and value.op == "bits":
        return unpacked(value.args[0], nbytes, count)
    if isinstance(value, Call) and value.op == "select":
        return _of_choice(value, nbytes, count)
    width = width_of(value)
    if not width or not isinstance(value, Call) or width * len(value.args) != nbytes * count:
        return None
    if width <= nbytes and nbytes % width == 0:
        each = nbytes // width
        return [packed(value.args[at * each : (at + 1) * each], width) for at in range(count)]
    if width % nbytes:
        return None
    found = list[Expr]()
    for part in value.args:
        pieces = unpacked(part, nbytes, width // nbytes)
        if pieces is None:
            return None
        found += pieces
    return found


def _of_choice(value: Call, nbytes: int, count: int) -> list[Expr] | None:
    condition, *sides = value.args
    made = [unpacked(each, nbytes, count) for each in sides]
    if any(each is None for each in made):
        return None
    yes, no = (each or [] for each in made)
    return [chosen(condition, one, other) for one, other in zip(yes, no, strict=True)]


def chosen(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """One of two values; of two packs a pack of choices."""
    width = width_of(yes) or width_of(no)
    if width:
        count = next(
            len(e.args) for e in (yes, no) if isinstance(e, Call) and e.op == f"pack{width}"
        )
        left, right = unpacked(yes, width, count), unpacked(no, width, count)
        if left is not None and right is not None:
            pairs = zip(left, right, strict=True)
            return packed([chosen(condition, one, other) for one, other in pairs], width)
    return call("select", condition, yes, no, dtype=yes.dtype)


def pieces_of_bits(op: str, value: Expr, number: int, signed: bool) -> Expr | None:
    """A pack that is shifted or masked, where whole parts are left; None: it is no such thing."""
    width = width_of(value)
    if not isinstance(value, Call) or not width or value.op != f"pack{width}":
        return None
    if op == "shr" and number >= 0 and number % (8 * width) == 0:
        gone = number // (8 * width)
        left = value.args[gone:]
        top = Call(f"wrap_s{8 * width}", (as_bits(value.args[-1]),), "int")
        if len(left) == 1:
            return top if signed else without_sign(left[0], width)
        below = Call("shr", (top, Number(8 * width - 1)), "int")
        return packed((*left, *[below if signed else ZERO] * gone), width)
    if op == "bitand" and number == (1 << 8 * width) - 1:
        return without_sign(value.args[0], width)
    return None


def lowest(value: Expr, nbytes: int) -> Expr:
    """An integer with the same lowest bytes, which are all that is kept of it: what cuts it or
    fills it further up is left out."""
    match value:
        case Sum(terms):
            return total(
                product(Number(number), *(lowest(each, nbytes) for each in factors))
                for factors, number in terms
            )
        case Call(op, (inner,)) if op.startswith("wrap_") and int(op[6:]) >= 8 * nbytes:
            return lowest(inner, nbytes)
        case Call(_, parts) if 0 < width_of(value) <= nbytes:
            kept = list(parts[: nbytes // width_of(value)])
            return packed(kept, width_of(value)) if len(kept) > 1 else kept[0]
        case _:
            return value


def without_sign(part: Expr, nbytes: int) -> Expr:
    """A part as the integer that its bits are."""
    if isinstance(part, Call) and part.op == f"wrap_s{8 * nbytes}":
        return without_sign(part.args[0], nbytes)
    bits = as_bits(part)
    return bits if not_negative(bits) else Call(f"wrap_u{8 * nbytes}", (bits,), "int")


def as_bits(part: Expr) -> Expr:
    """A part as an integer, with the sign that it happens to have."""
    return part if part.dtype == "int" else Call("bits", (part,), "int")


def each_part(opcode: str, args: Sequence[Expr]) -> tuple[list[list[Expr]], str] | None:
    """The arguments of an instruction on two halves for each half, and the instruction on one; None
    for another instruction. Raises Unreadable where halves are not known."""
    stem, _, kind = opcode.rpartition(".")
    if kind not in ("f16x2", "bf16x2"):
        return None
    halves = [unpacked(each, 2, 2) for each in args]
    if any(each is None for each in halves):
        raise Unreadable("a pair of halves whose parts are not known")
    sides = [[each[side] for each in halves if each is not None] for side in (0, 1)]
    return sides, f"{stem}.{kind.removesuffix('x2')}"
