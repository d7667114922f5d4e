"""Neighbouring elements as lanes of a vector: which accesses are one vector, and when."""

from __future__ import annotations

from dataclasses import dataclass, field

from ......analysis.lift.expressions import (
    ONE,
    Call,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    names_in,
    walk,
)
from ......analysis.lift.rewriting import rebuilt, substitute
from ......analysis.lift.sums import coefficient, from_terms, terms_of, total
from ......runners.dtypes import DTYPES
from ....shared.lifted.domains import divisor
from ....shared.lifted.memory import Memory
from .plain import Plain

LANE = "~lane"
"""the name of a lane's number while expressions are looked at"""


@dataclass
class Lanes:
    """What happens to expressions when the name `start` becomes `start + lane`."""

    plain: Plain
    width: int
    moving: frozenset[str]
    """names that count with the lane, and are multiples of the width where a vector begins"""
    needs: dict[Expr, None] = field(default_factory=dict[Expr, None])
    """sizes of the kernel that must be multiples of the width for vectors to be whole"""

    def split(self, expr: Expr) -> Expr:
        """The expression at `start + lane`; quotients and rests of whole rows are told apart: with
        n a multiple of the width `(start + lane) / n` is `start / n`."""
        lane = Name(LANE)
        moved = substitute(expr, {name: total((Name(name), lane)) for name in self.moving})
        return self._apart(moved)

    def _apart(self, expr: Expr) -> Expr:
        made = rebuilt(expr, self._apart)
        if not isinstance(made, Call) or made.op not in ("div", "rem") or made.dtype != "int":
            return made
        above, below = made.args
        found = coefficient(above, LANE)
        if found is None or found[0] != ONE or LANE in names_in(below):
            return made
        if not self._is_argument(below) or (needs := self.whole(found[1])) is None:
            return made
        if isinstance(below, Number) and int(below.value) % self.width:
            return made
        for each in (*needs, *self._open(below)):
            self.needs[each] = None
        inner = Call(made.op, (found[1], below), "int")
        return inner if made.op == "div" else total((inner, Name(LANE)))

    def vector(self, array: str, index: Expr) -> Expr | None:
        """Where the vector of an access begins; None: its lanes are no neighbours, or not aligned.
        `index`: as `split` gives it."""
        memory = self.plain.arrays.get(array)
        if memory is None or not self._is_aligned(memory):
            return None
        found = coefficient(index, LANE)
        if found is None or found[0] != ONE:
            return None
        needs = self.whole(found[1])
        if needs is None:
            return None
        self.needs |= dict.fromkeys(needs)
        return found[1]

    def _is_aligned(self, memory: Memory) -> bool:
        """Whether vectors may begin where an array does."""
        nbytes = DTYPES[memory.dtype].itemsize * self.width  # type: ignore[index]
        return memory.align % min(nbytes & -nbytes, 16) == 0

    def uniform(self, index: Expr) -> bool:
        """Whether all lanes access one element."""
        return LANE not in names_in(index)

    def whole(self, expr: Expr) -> tuple[Expr, ...] | None:
        """The sizes that must be multiples of the width for an integer to be one; None: none would
        make it so."""
        found = list[Expr]()
        for factors, number in terms_of(expr).items():
            needs = self._term(factors, number)
            if needs is None:
                return None
            found += needs
        return tuple(dict.fromkeys(found))

    def _term(self, factors: tuple[Expr, ...], number: int) -> tuple[Expr, ...] | None:
        known = abs(number)
        for each in factors:
            if isinstance(each, Name) and each.name in self.moving:
                return ()
            if isinstance(each, Call) and each.op == "rem":
                inner, below = self.whole(each.args[0]), each.args[1]
                never = isinstance(below, Number) and int(below.value) % self.width
                if inner is not None and self._is_argument(below) and not never:
                    return (*inner, *self._open(below))
            known *= divisor(each, self.plain)
        if known % self.width == 0:
            return ()
        given = tuple(each for each in factors if self._is_argument(each))
        return (from_terms({given: number}),) if given else None

    def _open(self, size: Expr) -> tuple[Expr, ...]:
        """The size, unless it is surely a multiple."""
        return () if divisor(size, self.plain) % self.width == 0 else (size,)

    def _is_argument(self, expr: Expr) -> bool:
        return names_in(expr) <= self.plain.sizes.keys() and not any(
            isinstance(each, Load | Fold) for each in walk(expr)
        )
