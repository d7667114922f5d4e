"""What writers of loops share: names of loops and values, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from ......analysis.lift.expressions import FLOATS, Call, Expr, Fold, Load, names_in, parts
from ....shared.lifted.c_expressions import everywhere
from ....shared.lifted.names import Names
from .c_text import VALUES, Writer

STEP = "    "
TEAM = "#pragma omp parallel for"


@dataclass
class Scope:
    """Names at a place of the text."""

    writer: Writer
    names: Names
    simd: bool
    """whether pragmas of OpenMP count"""
    told: dict[str, None] = field(default_factory=dict[str, None])
    """what was done, in words"""
    sequences: int = 0
    """loops around, whose iterations stay in order"""

    def place(self) -> str:
        """A name for the loop over a dimension: they are called i, j and so on."""
        return self.names.first_free("ijpqrstuvw")

    def opened(self, index: str, first: str, last: str, called: str = "") -> str:
        """The head of a loop over an index of the lift, which has a name from now on."""
        called = called or self.names.fresh("k")
        self.writer.loops[index] = called
        return f"for (long {called} = {first}; {called} < {last}; ++{called})"

    def unmoved(self, exprs: list[Expr], moving: Set[str], tab: str) -> Iterator[str]:
        """Names for what is computed of known values alone, before a loop that would repeat it."""
        for expr in exprs:
            for each in self._unmoved(expr, moving):
                if each not in self.writer.known:
                    called = self.names.fresh("mean" if _is_mean(each) else "value")
                    yield f"{tab}const {VALUES[each.dtype]} {called} = {self.writer.text(each)};"
                    self.writer.known[each] = called

    def _unmoved(self, expr: Expr, moving: Set[str]) -> Iterator[Call]:
        if expr in self.writer.known or not isinstance(expr, Call):
            return
        made = list(everywhere(expr))
        known = any(isinstance(e, Fold) and e in self.writer.known for e in made)
        still = not any(isinstance(e, Load) for e in made) and not self.is_open(expr)
        if known and still and expr.dtype in FLOATS and not names_in(expr) & moving:
            yield expr
            return
        for each in expr.args[:1] if expr.op in ("select", "and", "or") else expr.args:
            yield from self._unmoved(each, moving)

    def count(self, part: Expr, expr: Expr) -> int:
        """How often a part is written in an expression."""
        if expr in self.writer.known:
            return 0
        return 1 if expr == part else sum(self.count(part, each) for each in parts(expr))

    def is_open(self, expr: Expr) -> bool:
        """Whether an expression has a fold that has no name yet."""
        return any(isinstance(e, Fold) and e not in self.writer.known for e in everywhere(expr))


def _is_mean(expr: Call) -> bool:
    """Whether it is a sum over a count."""
    is_sum = isinstance(expr.args[0], Fold) and expr.args[0].kind == "sum"
    return expr.op == "div" and is_sum and isinstance(expr.args[1], Call)
