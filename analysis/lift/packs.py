"""Several short elements in one register: a `__half2`, four bytes, what a vector load of 16 bytes
brings. A pack is only there while a kernel is read: pieces of it are values of their own.

`pack2(low, high)` is an operation on values of 2 bytes each, the one at the lower address first.
"""

from __future__ import annotations

from collections.abc import Sequence

from .expressions import ZERO, Call, Expr, Number, Sum, Unreadable, call, not_negative
from .sums import product, total


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
        parts = unpacked(yes, width, count), unpacked(no, width, count)
        if parts[0] is not None and parts[1] is not None:
            pairs = zip(*parts, strict=True)
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
            kept = parts[: nbytes // width_of(value)]
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
