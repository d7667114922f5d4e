"""A row program in lanes: what is loaded and stored as vectors, and in which passes."""

from __future__ import annotations

from ......analysis.lift.expressions import Expr, Load, names_in, walk
from ......analysis.lift.statements import Let, Store, changed, expressions_in, statements_in
from ......runners.dtypes import DTYPES
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.row_program import COLUMN, RowProgram
from .body_text import loads_in
from .helpers import Vectors
from .lanes import LANE, Lanes
from .names import names_for
from .plain import Plain
from .writing import written

TEAM = "ROW_THREADS"
"""the macro that says how many threads share a row"""
LANES_BYTES = 16


class RowLanes:
    """One program in lanes: what is loaded as vectors, and in which passes."""

    def __init__(self, plain: Plain, program: RowProgram) -> None:
        self.plain, self.program = plain, program
        self.names = names_for(plain, (TEAM,))
        self.vectors = Vectors.named(self.names)
        self.written = written(plain)
        largest_item = max(
            (DTYPES[dtype_of(plain, a)].itemsize for a in _along(program) if a in plain.arrays),
            default=4,
        )
        self.lanes = max(1, LANES_BYTES // largest_item)
        self.split = Lanes(plain, self.lanes, frozenset((COLUMN,)))
        needs = self.split.whole(program.columns)
        if needs is None:
            self.lanes = 1
            self.split = Lanes(plain, 1, frozenset((COLUMN,)))
            needs = ()
        self.split.needs |= dict.fromkeys(needs)
        self.terms = [
            [(r, self.split.split(r.term), self.split.split(r.place)) for r in step]
            for step in program.passes
        ]
        self.elements = tuple(
            s for body in program.elements for s in changed(body, self.split.split)
        )
        self.stores = self._vector_stores()
        self.loads = [self._vectors([t for _, t, _ in step], ()) for step in self.terms]
        self.loads.append(self._vectors(self._element_exprs(), tuple(s.array for s in self.stores)))
        if not any(self.loads) and not self.stores:
            raise Unwritable("no array is read along rows")
        uses = dict[Load, int]()
        for step in self.loads:
            for load in step:
                uses[load] = uses.get(load, 0) + 1
        self.held = [load for load, count in uses.items() if count > 1]

    @property
    def scattered(self) -> bool:
        """Whether lanes of a pass read elements that are no neighbours, as columns of a matrix."""
        exprs = [[t for _, t, _ in step] for step in self.terms] + [self._element_exprs()]
        return any(
            LANE in names_in(load.index) and load not in vectors
            for step, vectors in zip(exprs, self.loads, strict=True)
            for load in loads_in(step)
        )

    @property
    def held_arrays(self) -> list[str]:
        """The arrays whose elements more than one pass needs, once a load."""
        return [load.array for load in self.held]

    @property
    def bytes_a_column(self) -> int:
        """Of all arrays that are read along a row."""
        arrays = {load.array for step in self.loads for load in step}
        return sum(DTYPES[dtype_of(self.plain, a)].itemsize for a in arrays)

    def _element_exprs(self) -> list[Expr]:
        found = list[Expr]()
        for each in self.elements:
            match each:
                case Store(_, index, value):
                    found += [index, value]
                case Let(_, value):
                    found.append(value)
                case _:
                    pass
        return found

    def _vectors(self, exprs: list[Expr], stored: tuple[str, ...]) -> dict[Load, Expr]:
        found = dict[Load, Expr]()
        for load in loads_in(exprs):
            if load.array in self.written and load.array not in stored:
                continue
            start = self.split.vector(load.array, load.index)
            if start is not None:
                found[load] = start
        return found

    def _vector_stores(self) -> dict[Store, Expr]:
        arrays = [s.array for s in statements_in(self.elements) if isinstance(s, Store)]
        found = dict[Store, Expr]()
        for each in self.elements:
            if isinstance(each, Store) and arrays.count(each.array) == 1:
                start = self.split.vector(each.array, each.index)
                if start is not None:
                    found[each] = start
        return found


def _along(program: RowProgram) -> set[str]:
    """The arrays of which a row reads or writes several elements."""
    terms = [each for step in program.passes for r in step for each in (r.term, r.place)]
    elements = [expr for body in program.elements for expr in expressions_in(body)]
    stored = {
        s.array for body in program.elements for s in statements_in(body) if isinstance(s, Store)
    }
    return stored | {
        each.array
        for expr in (*terms, *elements)
        for each in walk(expr)
        if isinstance(each, Load) and COLUMN in names_in(each.index)
    }


def dtype_of(plain: Plain, array: str) -> str:
    """The contract's type of an array's elements."""
    return plain.dtypes[array]
