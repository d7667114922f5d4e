"""C++ of folds at one place: in lanes where elements lie side by side, in parts for a team."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ......analysis.lift.expressions import (
    ONE,
    ZERO,
    Carried,
    Expr,
    Fold,
    Name,
    Number,
    walk,
)
from ......analysis.lift.statements import Store
from ....shared.lifted.c_expressions import Unwritable, everywhere, repeated, unconditional
from .c_text import VALUES
from .reductions import SIGNS, Reduction, neutral, reduction_of, step, strides
from .scope import STEP, Scope

MOST_NODES = 1500
"""of an expression that is written out"""
LANES, PARTS = 32, 64
FEW = 32
"""iterations that are not worth lanes"""
_CALLED = {"sum": "total", "product": "total", "max": "most", "min": "least"}


@dataclass
class Folds(Scope):
    """Writes folds, and knows their values by name from then on."""

    kept: dict[Fold, Store] = field(default_factory=dict[Fold, Store])
    """where the terms of a fold are stored as well"""

    def values(self, exprs: list[Expr], tab: str, *, team: bool = False) -> Iterator[str]:
        """What must be computed before these: folds, and what is written more than once."""
        if any(sum(1 for _ in everywhere(each)) > MOST_NODES for each in exprs):
            raise Unwritable("an expression is too long to be written")
        for each in exprs:
            for fold in self._needed(each):
                if fold not in self.writer.known:
                    yield from self.folded(fold, tab, team=team and not self.sequences)
        for each in repeated([e for e in exprs if e not in self.writer.known]):
            if each in self.writer.known or self.is_open(each):
                continue
            if sum(self.count(each, expr) for expr in exprs) > 1:
                called = self.names.fresh("value")
                yield f"{tab}const {VALUES[each.dtype]} {called} = {self.writer.text(each)};"
                self.writer.known[each] = called

    def _needed(self, expr: Expr) -> list[Fold]:
        """The folds that an expression needs in any case. Raises Unwritable for one within a side
        of a choice."""
        certain = [e for e in unconditional(expr) if isinstance(e, Fold)]
        for each in everywhere(expr):
            if isinstance(each, Fold) and each not in certain and each not in self.writer.known:
                raise Unwritable("a loop on one side of a choice")
        return list(dict.fromkeys(certain))

    def folded(self, fold: Fold, tab: str, *, team: bool) -> Iterator[str]:
        """The loop or loops of a fold. `team`: whether they may be divided among threads."""
        reduction = reduction_of(fold)
        if reduction is None:
            yield from self._in_order(fold, tab)
            return
        yield from self.values([c for _, c in reduction.loops[:1]] + [reduction.first], tab)
        name = self.names.fresh(_CALLED[reduction.kind])
        lanes = self._has_lanes(reduction)
        if team and len(reduction.loops) == 1 and not _is_short(reduction.loops[0][1]):
            yield from self._in_parts(reduction, name, tab, lanes=lanes)
        else:
            yield from self._reduced(reduction, name, tab, lanes=lanes)
        self.writer.known[fold] = name

    def _reduced(self, reduction: Reduction, name: str, tab: str, *, lanes: bool) -> Iterator[str]:
        """A variable, and loops that combine it with every term."""
        kind = VALUES[reduction.fold.dtype]
        late = reduction.nan_free and not isinstance(reduction.first, Number)
        first = neutral(reduction) if late else reduction.first
        yield f"{tab}{kind} {name} = {self.writer.text(first)};"
        last = self.writer.text(reduction.loops[-1][1])
        yield from self._loop(reduction, name, "0", last, tab, lanes=lanes)
        if late:
            self.writer.headers.add("<cmath>")
            both = f"{self.writer.text(reduction.first)}, {name}"
            yield f"{tab}{name} = std::f{reduction.kind}({both});"

    def _loop(
        self, reduction: Reduction, name: str, first: str, last: str, tab: str, *, lanes: bool
    ) -> Iterator[str]:
        """Loops that combine; the innermost one from `first` to `last`."""
        yield from self.unmoved([reduction.term], {n for n, _ in reduction.loops}, tab)
        known, at = dict(self.writer.known), tab
        held = self.names.fresh(f"{name}_lanes") if lanes else ""
        if lanes:
            yield from self._lanes_declared(reduction, held, tab)
        for index, count in reduction.loops[:-1]:
            yield f"{at}{self.opened(index, '0', self.writer.text(count))} {{"
            at += STEP
        index, mark = reduction.loops[-1][0], self.names.mark()
        if lanes:
            yield from self._in_lanes(reduction, name, held, first, last, at)
        else:
            yield f"{at}{self.opened(index, first, last)} {{"
            yield from self._combined(reduction, name, at + STEP)
            yield f"{at}}}"
            self.names.back_to(mark)
        for depth in reversed(range(len(reduction.loops) - 1)):
            yield f"{tab}{STEP * depth}}}"
        if lanes:
            mark = self.names.mark()
            each = self.names.fresh("each")
            kind = VALUES[reduction.fold.dtype]
            yield f"{tab}for (const {kind} {each} : {held}) {step(reduction.kind, name, each)}"
            self.names.back_to(mark)
        self.writer.known = known

    def _lanes_declared(self, reduction: Reduction, held: str, tab: str) -> Iterator[str]:
        kind, size = VALUES[reduction.fold.dtype], self._constant("kLanes", LANES)
        self.told["sums in several lanes"] = None
        if reduction.kind == "sum":
            yield f"{tab}{kind} {held}[{size}] = {{}};"
            return
        self.writer.headers.add("<algorithm>")
        yield f"{tab}{kind} {held}[{size}];"
        yield f"{tab}std::fill_n({held}, {size}, {self.writer.text(neutral(reduction))});"

    def _in_lanes(
        self, reduction: Reduction, name: str, held: str, first: str, last: str, tab: str
    ) -> Iterator[str]:
        """Whole groups of neighbours, each of which has a lane; then the rest."""
        index, size = reduction.loops[-1][0], self._constant("kLanes", LANES)
        base = self.names.fresh("k")
        mark = self.names.mark()
        lane = self.names.fresh("lane")
        yield f"{tab}long {base} = {first};"
        yield f"{tab}for (; {base} + {size} <= {last}; {base} += {size}) {{"
        if self.simd:
            yield f"{tab}{STEP}#pragma omp simd"
        yield f"{tab}{STEP}for (long {lane} = 0; {lane} < {size}; ++{lane}) {{"
        known = dict(self.writer.known)
        self.writer.loops[index] = f"({base} + {lane})"
        yield from self._combined(reduction, f"{held}[{lane}]", tab + STEP * 2)
        self.writer.known = known
        yield f"{tab}{STEP}}}"
        yield f"{tab}}}"
        self.names.back_to(mark)
        self.writer.loops[index] = base
        yield f"{tab}for (; {base} < {last}; ++{base}) {{"
        yield from self._combined(reduction, name, tab + STEP)
        yield f"{tab}}}"
        self.names.back_to(mark)
        self.writer.known = known

    def _in_parts(self, reduction: Reduction, name: str, tab: str, *, lanes: bool) -> Iterator[str]:
        """The same number of parts whatever threads there are, put together in their order."""
        kind, writer = VALUES[reduction.fold.dtype], self.writer
        self.told["parts for a team of threads"] = None
        size = self._constant("kParts", PARTS)
        parts, part = self.names.fresh("parts"), self.names.fresh("part")
        own = self.names.fresh(f"{name}_of_part")
        count = writer.text(reduction.loops[0][1], inside=True)
        yield f"{tab}{kind} {parts}[{size}];"
        yield f"{tab}#pragma omp parallel for"
        yield f"{tab}for (long {part} = 0; {part} < {size}; ++{part}) {{"
        mark = self.names.mark()
        first, last = self.names.fresh("first"), self.names.fresh("last")
        yield f"{tab}{STEP}const long {first} = {part} * {count} / {size};"
        yield f"{tab}{STEP}const long {last} = ({part} + 1) * {count} / {size};"
        yield f"{tab}{STEP}{kind} {own} = {writer.text(neutral(reduction))};"
        yield from self._loop(reduction, own, first, last, tab + STEP, lanes=lanes)
        yield f"{tab}{STEP}{parts}[{part}] = {own};"
        yield f"{tab}}}"
        self.names.back_to(mark)
        yield f"{tab}{kind} {name} = {writer.text(reduction.first)};"
        each = self.names.fresh("each")
        yield f"{tab}for (const {kind} {each} : {parts}) {step(reduction.kind, name, each)}"

    def _combined(self, reduction: Reduction, name: str, tab: str) -> Iterator[str]:
        """The statement that combines a variable with the term of this iteration."""
        yield from self.values([reduction.term], tab)
        kept = self.kept.get(reduction.fold)
        if kept is not None:
            value = self.names.fresh("value")
            kind = VALUES[reduction.fold.dtype]
            yield f"{tab}const {kind} {value} = {self.writer.text(reduction.term)};"
            yield f"{tab}{kept.array}[{self.writer.text(kept.index)}] = {value};"
            yield f"{tab}{step(reduction.kind, name, value)}"
            return
        yield from combined(self, reduction, name, reduction.term, tab)

    def _has_lanes(self, reduction: Reduction) -> bool:
        """Whether neighbouring iterations read neighbouring elements and need no other loop."""
        index, count = reduction.loops[-1]
        if _is_short(count) or any(
            isinstance(e, Fold) and e not in self.writer.known for e in walk(reduction.term)
        ):
            return False
        found = strides(reduction.term, index)
        return ONE in found and all(each in (ZERO, ONE) for each in found)

    def _constant(self, name: str, value: int) -> str:
        return self.writer.constant(name, value)

    def _in_order(self, fold: Fold, tab: str) -> Iterator[str]:
        """A loop over the fold's iterations, with what it carries as variables before it."""
        writer = self.writer
        yield from self.values([fold.count, *(each.first for each in fold.carried)], tab)
        named = {each.name: self.names.fresh("carried") for each in fold.carried}
        for each in fold.carried:
            first = writer.text(each.first)
            yield f"{tab}{VALUES[each.dtype]} {named[each.name]} = {first};"
        count, outer = writer.text(fold.count), dict(writer.known)
        for each in fold.carried:
            writer.known[Name(each.name, each.dtype)] = named[each.name]
        yield f"{tab}{self.opened(fold.index, '0', count)} {{"
        yield from self.carried_on(fold.carried, tab + STEP)
        yield f"{tab}}}"
        writer.known = outer
        for which, each in enumerate(fold.carried):
            value = Fold(fold.kind, fold.index, fold.count, fold.carried, which)
            writer.known[value] = named[each.name]

    def carried_on(self, carried: Sequence[Carried], tab: str) -> Iterator[str]:
        """What a loop carries becomes what it is next, all at once."""
        writer = self.writer
        nexts: list[Expr] = [each.next for each in carried]
        yield from self.values(nexts, tab)
        named = [writer.known[Name(each.name, each.dtype)] for each in carried]
        if len(carried) == 1:
            yield f"{tab}{named[0]} = {writer.text(nexts[0])};"
            return
        fresh = [self.names.fresh(f"next_{name}") for name in named]
        for each, name, value in zip(carried, fresh, nexts, strict=True):
            yield f"{tab}const {VALUES[each.dtype]} {name} = {writer.text(value)};"
        for name, value in zip(named, fresh, strict=True):
            yield f"{tab}{name} = {value};"


def combined(scope: Scope, reduction: Reduction, name: str, term: Expr, tab: str) -> Iterator[str]:
    """A variable is combined with a term whose folds are known."""
    text = scope.writer.text(term)
    if reduction.kind not in SIGNS and not text.replace("_", "").isalnum():
        value = scope.names.fresh("value")
        yield f"{tab}const {VALUES[reduction.fold.dtype]} {value} = {text};"
        text = value
    yield f"{tab}{step(reduction.kind, name, text)}"


def _is_short(count: Expr) -> bool:
    return isinstance(count, Number) and count.value < FEW
