"""How wide integers are in what is written: a lift's have no width, and Triton's have that of the
array that they are loaded from, so that a product of bytes would be a byte.

What is computed of elements of 8 or 16 bits is computed in 32, and in 64 where the kernel did:
where it reads or stores integers of 64 bits, or folds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ......analysis.lift.expressions import Call, Expr, Fold, Load, parts
from ......analysis.lift.statements import Body, Scatter, Store, When, expressions_in, statements_in
from ....shared.lifted.memory import Memory

NARROW = frozenset(("int8", "uint8", "int16", "uint16"))
LONG = frozenset(("int64", "uint64"))
UNSIGNED = frozenset(("uint32", "uint64"))
_FOLDED_LONG = re.compile(r"\}\) : \([^)]*xi64|fpto[su]i .* to (?:tensor<[^>]*x)?i64")


@dataclass(frozen=True)
class Widths:
    """`values`: the type of integers that are computed. `casts`: that of what is loaded of an
    array, where it is another one than the array's."""

    values: str = "tl.int32"
    casts: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def extremes(self) -> tuple[int, int]:
        """The least and the greatest of them."""
        bits = 63 if self.values == "tl.int64" else 31
        return -(1 << bits), (1 << bits) - 1


def widths_of(body: Body, arrays: Mapping[str, Memory], ttir: str) -> Widths | str:
    """The widths of a kernel, or why its integers cannot be written."""
    computed = {name for name in _computed_in(body) if name in arrays}
    whole = {n: arrays[n].dtype for n in computed if "int" in arrays[n].dtype}
    if unsigned := sorted(name for name, dtype in whole.items() if dtype in UNSIGNED):
        return f"it computes with unsigned integers of 32 or 64 bits (`{unsigned[0]}`)"
    stored = {s.array for s in statements_in(body) if isinstance(s, Store | Scatter)}
    long_stored = any(arrays[n].dtype in LONG for n in stored if n in arrays)
    long = _FOLDED_LONG.search(ttir) is not None or bool({*whole.values()} & LONG)
    values = "tl.int64" if long or (whole and long_stored) else "tl.int32"
    casts = {
        name: values
        for name, dtype in whole.items()
        if dtype in NARROW or (values == "tl.int64" and dtype not in LONG)
    }
    return Widths(values, casts)


def _computed_in(body: Body) -> Iterator[str]:
    """Arrays whose elements are more than moved: a value is made of them, or a choice."""
    for each in statements_in(body):
        if isinstance(each, When):
            yield from _loaded(each.condition)
    for expr in expressions_in(body):
        yield from _computed(expr)


def _computed(expr: Expr) -> Iterator[str]:
    match expr:
        case Load(_, index):
            yield from _computed(index)
        case Call("select", (condition, yes, no)):
            yield from _loaded(condition)
            yield from _computed(yes)
            yield from _computed(no)
        case Call() | Fold():
            yield from _loaded(expr)
        case _ if any(isinstance(each, Load) for each in parts(expr)):
            yield from _loaded(expr)
        case _:
            for each in parts(expr):
                yield from _computed(each)


def _loaded(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Load):
        yield expr.array
        yield from _computed(expr.index)
        return
    for each in parts(expr):
        yield from _loaded(each)
