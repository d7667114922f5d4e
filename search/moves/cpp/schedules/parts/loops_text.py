"""C++ of statements: nests as loops with vectors inside and a team outside, folds as loops where
all that they need is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ......analysis.lift.expressions import Name, Number
from ......analysis.lift.statements import (
    Body,
    Dim,
    Each,
    Let,
    Scatter,
    Statement,
    Store,
    When,
    expressions_in,
    statements_in,
)
from ....shared.lifted.c_expressions import Unwritable
from .c_text import VALUES
from .folds_text import Folds
from .nests import Nest, bound_in, folds_in, free_names, given_in, nest_of
from .sharing import Apart, apart_from, kept_terms

STEP = "    "
TEAM = "#pragma omp parallel for"
SMALL = 1 << 14
"""places with nothing to fold or loop over in them, below which waking a team takes longer than
they do; a rule of thumb"""
_UPDATES = {"add": "+=", "and": "&=", "or": "|=", "xor": "^="}
Form = Callable[["Loops", Nest, str, bool], "list[str] | None"]
"""lines of a nest in one way, or None where it is not made for it; the last argument: whether they
may start a team"""


@dataclass
class Loops(Folds):
    """Writes a function's statements. `forms`: ways to write a nest, the first that fits counts."""

    forms: Sequence[Form] = ()

    def lines(self, body: Body, tab: str, *, team: bool) -> Iterator[str]:
        """Statements in order; what they name is known until their block ends."""
        known, mark = dict(self.writer.known), self.names.mark()
        for each in body:
            yield from self._statement(each, tab, team=team)
        self.writer.known = known
        self.names.back_to(mark)

    def _statement(self, statement: Statement, tab: str, *, team: bool) -> Iterator[str]:
        text = self.writer.text
        match statement:
            case Each(apart=True):
                yield from self.nest(nest_of(statement), tab, team=team)
            case Each():
                yield from self._sequence(statement, tab, team=team)
            case Store(array, index, value):
                yield from self.values([index, value], tab, team=team)
                yield f"{tab}{array}[{text(index)}] = {text(value)};"
            case Let(name, value):
                yield from self.values([value], tab, team=team)
                called = self.names.fresh(name)
                yield f"{tab}const {VALUES[value.dtype]} {called} = {text(value)};"
                self.writer.known[Name(name, value.dtype)] = called
            case When(condition, yes, no):
                yield from self.values([condition], tab, team=team)
                yield f"{tab}if ({text(condition)}) {{"
                yield from self.lines(yes, tab + STEP, team=False)
                if no:
                    yield f"{tab}}} else {{"
                    yield from self.lines(no, tab + STEP, team=False)
                yield f"{tab}}}"
            case Scatter(op, array, index, value) if op in _UPDATES:
                yield from self.values([index, value], tab, team=False)
                yield f"{tab}{array}[{text(index)}] {_UPDATES[op]} {text(value)};"
            case _:
                raise Unwritable("a statement that no schedule writes")

    def _sequence(self, loop: Each, tab: str, *, team: bool) -> Iterator[str]:
        """A loop whose iterations stay in order, with what it carries as variables before it."""
        yield from self.values([loop.count, *(c.first for c in loop.carried)], tab, team=team)
        known = dict(self.writer.known)
        for each in loop.carried:
            called = self.names.fresh("carried")
            yield f"{tab}{VALUES[each.dtype]} {called} = {self.writer.text(each.first)};"
            self.writer.known[Name(each.name, each.dtype)] = called
        count = self.writer.text(loop.count)
        yield f"{tab}{self.opened(loop.index, '0', count)} {{"
        self.sequences += 1
        for each in loop.body:
            yield from self._statement(each, tab + STEP, team=team)
        self.sequences -= 1
        yield from self.carried_on(loop.carried, tab + STEP)
        yield f"{tab}}}"
        carried = [Name(each.name, each.dtype) for each in loop.carried]
        outer = {each: self.writer.known[each] for each in carried}
        self.writer.known = known | outer

    def nest(self, nest: Nest, tab: str, *, team: bool) -> Iterator[str]:
        """A nest in the first form that fits, after what it needs that others places share."""
        known, mark = dict(self.writer.known), self.names.mark()
        team = team and not any(isinstance(e, Scatter) for e in statements_in(nest.body))
        team = team and not _is_small(nest)
        apart, nest = apart_from(nest, self.writer.known, self.names)
        for each in apart:
            yield from self._apart(each, tab, team=team)
        for form in self.forms:
            found = form(self, nest, tab, team)
            if found is not None:
                yield from found
                break
        else:
            yield from self._plain(nest, tab, team=team)
        self.writer.known = known
        self.names.back_to(mark | {each.name for each in apart})

    def _apart(self, each: Apart, tab: str, *, team: bool) -> Iterator[str]:
        """A sum that places share, computed before them."""
        self.writer.headers.add("<vector>")
        self.told["sums that are shared computed once"] = None
        count = self.writer.text(each.count)
        yield f"{tab}std::vector<{VALUES[each.dtype]}> {each.name}({count});"
        yield from self.nest(each.nest, tab, team=team)

    def ready(self, body: Body, later: Iterable[str], tab: str, *, team: bool) -> Iterator[str]:
        """Folds that need none of the names that come later, nor what statements give."""
        given = given_in(body) | set(later) | bound_in(body)
        for fold in folds_in([e for e in expressions_in(body) if e not in self.writer.known]):
            if fold not in self.writer.known and not free_names(fold) & given:
                yield from self.folded(fold, tab, team=team)

    def _plain(self, nest: Nest, tab: str, *, team: bool) -> Iterator[str]:
        """The loops one within the other, folds as far outside as they can be."""
        dims, at = nest.dims, tab
        vectors = self.simd and self._is_straight(nest)
        pending, opened = list(dims), 0
        while pending:
            later = [each.name for each in pending]
            if len(pending) == 1:
                nest = yield from kept_terms(self, nest, at)
            yield from self.ready(nest.body, later, at, team=team and not opened)
            if len(pending) == 1 and opened:
                values = [e.value for e in statements_in(nest.body) if isinstance(e, Store)]
                yield from self.unmoved(values, {*later, *given_in(nest.body)}, at)
            together = self._together(nest, pending) if team and not opened else 1
            if team and not opened:
                self.told["a team of threads outside"] = None
                collapse = f" collapse({together})" if together > 1 else ""
                straight = " simd" if vectors and together == len(dims) == 1 else ""
                yield f"{tab}{TEAM}{straight}{collapse}"
            elif vectors and len(pending) == 1:
                yield f"{at}#pragma omp simd"
            for dim in pending[:together]:
                extent = self.writer.text(dim.extent)
                yield f"{at}{self.opened(dim.name, '0', extent, self.place())} {{"
                at += STEP
                opened += 1
            pending = pending[together:]
        yield from self.lines(nest.body, at, team=False)
        for depth in reversed(range(opened)):
            yield f"{tab}{STEP * depth}}}"

    def _together(self, nest: Nest, pending: list[Dim]) -> int:
        """How many of the outermost loops a team divides as one: those with nothing between them
        and at least one left for vectors."""
        outer = len(pending) - 1
        count = 1
        while count < outer:
            later = {each.name for each in pending[count:]}
            passed = {each.name for each in pending[:count]}
            folds = folds_in(list(expressions_in(nest.body)))
            free = [free_names(f) for f in folds if f not in self.writer.known]
            if any(passed & names and not names & later for names in free):
                break
            count += 1
        return count

    def _is_straight(self, nest: Nest) -> bool:
        """Whether a place does nothing but stores of what the innermost loop does not fold."""
        if not all(isinstance(e, Store | When | Let) for e in statements_in(nest.body)):
            return False
        inner = nest.dims[-1].name
        return not any(inner in free_names(f) for f in folds_in(list(expressions_in(nest.body))))


def _is_small(nest: Nest) -> bool:
    """Whether it has few places for all sizes, and little to do at each."""
    extents = [each.extent for each in nest.dims]
    known = [each.value for each in extents if isinstance(each, Number)]
    return (
        len(known) == len(extents)
        and prod(known) < SMALL
        and not any(isinstance(e, Each) for e in statements_in(nest.body))
        and not folds_in(list(expressions_in(nest.body)))
    )
