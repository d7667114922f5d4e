"""Folds along a row or down the columns, written anew: the program of `row_program` over blocks.

A block has places of an outer dimension along one axis and columns of the fold along the other; the
axis whose elements lie side by side comes last. Where the whole row fits in a block it is loaded
once for all passes; longer ones, and folds down columns, go through a loop for each pass, with
partial results for each lane that are joined behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ......analysis.lift.expressions import (
    ONE,
    ZERO,
    Call,
    DType,
    Expr,
    Load,
    Name,
    Number,
    names_in,
    walk,
)
from ......analysis.lift.rewriting import rebuilt, substitute
from ......analysis.lift.statements import Body, When, expressions_in
from ......analysis.lift.sums import coefficient
from ....shared.lifted.c_expressions import Unwritable, folds_of
from ....shared.lifted.row_program import COLUMN, Reduction, RowProgram
from .grids import Tile
from .kernel_text import KernelText
from .plain import Plain
from .tile_text import Index, number_text

NEUTRAL = {"sum": 0.0, "product": 1.0, "max": -float("inf"), "min": float("inf"),
           "argmax": -float("inf"), "argmin": float("inf")}  # fmt: skip
CALLED = {"sum": "total", "product": "product", "max": "most", "min": "least"}
JOINED = {"sum": "tl.sum", "max": "tl.max", "min": "tl.min"}
STEP = {"sum": "{} + {}", "product": "{} * {}", "max": "tl.maximum({}, {})",
        "min": "tl.minimum({}, {})"}  # fmt: skip
SHARE = 512
"""columns of a fold that one of several programs takes"""


@dataclass(frozen=True)
class Shape:
    """How a program's blocks lie."""

    tiles: tuple[Tile, ...]
    columns_axis: int
    block: str
    """the constant that is how many columns a block has"""
    whole: bool
    """whether that is all of them"""
    share: Tile | None = None
    """which share of the columns a program has, of SHARE each; None: all of them"""


class FoldText:
    """The body of one kernel."""

    def __init__(self, text: KernelText, program: RowProgram, shape: Shape) -> None:
        self.text, self.program, self.shape = text, program, shape
        self.lines, self.writer, self.names = text.lines, text.writer, text.names
        self.column = self.names.fresh("column")
        self.neutral = dict[Load, str]()
        _surely_folded((*program.ends, *(s for body in program.elements for s in body)))
        for each in (r for step in program.passes for r in step):
            if each.kind not in NEUTRAL or each.later or each.fold.dtype == "bool":
                raise Unwritable(f"a fold of the kind {each.kind} along a block")

    def write(self) -> None:
        """All passes, what is done for every column, and once a row."""
        self.text.begun(self.shape.tiles)
        if self.shape.whole:
            self.lines.add(f"{self.column} = {self._range('')}")
            self._columns_known()
        for step in self.program.passes:
            (self._at_once if self.shape.whole else self._looped)(step)
        for body in self.program.elements:
            known = dict(self.writer.known)
            if not self.shape.whole:
                self._loop()
            self.lines.statements(body)
            if not self.shape.whole:
                self._loop_ended(known)
        self.lines.statements(self.program.ends)

    def _range(self, start: str) -> str:
        spread = self.text.spread(f"tl.arange(0, {self.shape.block})", self.shape.columns_axis)
        if self.text.wide and self.shape.columns_axis == 0 and self.text.rank > 1:
            spread = f"{spread}.to(tl.int64)"  # it counts rows of the array
        return f"{start} + {spread}" if start else spread

    def _columns_known(self, end: str = "") -> None:
        size = end or self.text.size(self.program.columns, least=2)
        inside = f"{self.column} < {size}"
        self.writer.indices[COLUMN] = Index(self.column, inside, self.shape.columns_axis)

    def _loop(self) -> None:
        start = self.names.fresh("start")
        first, end = "0", self.text.size(self.program.columns)
        if self.shape.share is not None:
            first, last = f"{self.shape.share.called} * {SHARE}", self.names.fresh("end")
            self.lines.add(f"{last} = min({end}, {first} + {SHARE})")
            end = last
        self.lines.inside(f"for {start} in range({first}, {end}, {self.shape.block}):")
        self.lines.add(f"{self.column} = {self._range(start)}")
        self._columns_known("" if self.shape.share is None else end)

    def _loop_ended(self, known: dict[Expr, str]) -> None:
        self.lines.ended(known)
        del self.writer.indices[COLUMN]

    def _at_once(self, step: Sequence[Reduction]) -> None:
        for each in step:
            self._loaded([each])
            if each.kind.startswith("arg"):
                self._known_pair(each, self._masked(each), self._place(each))
            else:
                self._known_value(each, self._joined(each.kind, self._masked(each)))

    def _loaded(self, step: Sequence[Reduction]) -> None:
        """Names for the elements of a pass; beyond the row they are neutral where that is what
        their fold needs."""
        other = dict[Load, str]()
        for each in step:
            load = _bare_load(each)
            whole = each.term.dtype == "int" and each.kind != "sum"  # it may not fit the array
            if load is not None and load not in self.writer.known and not whole:
                other.setdefault(load, self._neutral(each))
        terms = [each.term for each in step]
        self.lines.values([*terms, *(e.place for e in step if e.kind.startswith("arg"))], other)
        self.neutral = other

    def _neutral(self, each: Reduction) -> str:
        value, dtype = NEUTRAL[each.kind], each.term.dtype
        if dtype != "int":
            return number_text(Number(value, dtype))
        least, greatest = self.writer.widths.extremes
        if abs(value) == float("inf"):
            return str(least if value < 0 else greatest)
        return str(int(value))

    def _masked(self, each: Reduction) -> str:
        """The term, neutral where it does not count."""
        term = self.writer.text(each.term)
        load = _bare_load(each)
        kept = self.neutral.get(load) if load is not None else None
        if each.start == ZERO and kept == self._neutral(each) and _neutral_by_load(each):
            return term
        inside = self.writer.indices[COLUMN].inside
        if each.start != ZERO:
            first = f"{self.column} >= {self.text.size(each.start)}"
            inside = f"({inside}) & ({first})"
        return f"tl.where({inside}, {term}, {self._neutral(each)})"

    def _joined(self, kind: str, text: str) -> str:
        """All columns of a value as one."""
        axis = self.shape.columns_axis if self.text.rank > 1 else 0
        keep = ", keep_dims=True" if self.text.rank > 1 else ""
        if kind not in JOINED:
            raise Unwritable("a product along a block")
        return f"{JOINED[kind]}({text}, axis={axis}{keep})"

    def _known_value(self, each: Reduction, joined: str) -> None:
        """The fold's value, with what it began with."""
        value = joined
        first = each.first
        if not (isinstance(first, Number) and self._is_neutral(each, first)):
            if not (each.kind in ("max", "min") and _is_element(each)):
                self.lines.values([first])
                value = STEP[each.kind].format(self.writer.text(first, 6), joined)
        called = self.names.fresh(CALLED[each.kind])
        self.lines.add(f"{called} = {value}")
        self.writer.known[each.fold] = called

    def _is_neutral(self, each: Reduction, first: Number) -> bool:
        """Whether a fold begins with what changes nothing; of integers, whatever their width."""
        if each.term.dtype != "int" or each.kind not in ("max", "min"):
            return first.value == NEUTRAL[each.kind]
        least, greatest = self.writer.widths.extremes
        return first.value <= least if each.kind == "max" else first.value >= greatest

    def _place(self, each: Reduction) -> str:
        if each.place != Name(COLUMN):
            raise Unwritable("the place of an extreme is no column")
        return self.column

    def _known_pair(self, each: Reduction, value: str, place: str) -> None:
        """An extreme and its first place, of a block. Ties go to the first column."""
        if not _is_element(each) and not _begins_neutral(each):
            raise Unwritable("an extreme that starts from a value of its own")
        best, where = self.names.fresh("best"), self.names.fresh("place")
        kind = each.kind.removeprefix("arg")
        shown = value if value.isidentifier() else self.names.fresh("value")
        if shown != value:
            self.lines.add(f"{shown} = {value}")
        self.lines.add(f"{best} = {self._joined(kind, shown)}")
        beyond = self.text.size(self.program.columns)
        candidates = f"tl.where({shown} == {best}, {place}, {beyond})"
        self.lines.add(f"{where} = {self._joined('min', candidates)}")
        self._pair_known(each, best, where)

    def _pair_known(self, each: Reduction, best: str, where: str) -> None:
        for which, carried in enumerate(each.fold.carried):
            is_place = carried.first == each.first_place and carried.dtype == "int"
            known = replace(each.fold, which=which)
            self.writer.known[known] = where if is_place else best

    def _looped(self, step: Sequence[Reduction]) -> None:
        parts = [self._begun(each) for each in step]
        known = dict(self.writer.known)
        self._loop()
        self._loaded(step)
        for each, names in zip(step, parts, strict=True):
            value = self._masked(each)
            if not each.kind.startswith("arg"):
                self.lines.add(_step(each.kind, names[0], value))
                continue
            self._place(each)
            better = self.names.fresh("better")
            shown = value if value.isidentifier() else self.names.fresh("value")
            if shown != value:
                self.lines.add(f"{shown} = {value}")
            sign = ">" if each.kind == "argmax" else "<"
            self.lines.add(
                f"{better} = {shown} {sign} {names[0]}",
                f"{names[0]} = tl.where({better}, {shown}, {names[0]})",
                f"{names[1]} = tl.where({better}, {self.column}, {names[1]})",
            )
        self._loop_ended(known)
        for each, names in zip(step, parts, strict=True):
            if each.kind.startswith("arg"):
                self._known_pair(each, names[0], names[1])
            else:
                self._known_value(each, self._joined(each.kind, names[0]))

    def _begun(self, each: Reduction) -> list[str]:
        """Partial results of the lanes before a loop."""
        dtype: DType = each.term.dtype
        kind = each.kind.removeprefix("arg")
        called = self.names.fresh(f"{CALLED[kind]}_here")
        whole = f"[{', '.join(self._lengths())}]"
        fill = self._neutral(each)
        type_ = self.writer.type_of(dtype)
        made = f"tl.full({whole}, {fill}, {type_})"
        self.lines.add(f"{called} = {made if fill != '0.0' else f'tl.zeros({whole}, {type_})'}")
        if kind == each.kind:
            return [called]
        place = self.names.fresh("place_here")
        self.lines.add(f"{place} = tl.zeros({whole}, tl.int32)")
        return [called, place]

    def _lengths(self) -> list[str]:
        if self.text.rank == 1:
            return [self.shape.block]
        lengths = ["1", "1"]
        lengths[self.shape.columns_axis] = self.shape.block
        for tile in self.shape.tiles:
            if tile.axis is not None and tile.block:
                lengths[tile.axis] = tile.block
        return lengths


def _surely_folded(body: Body) -> None:
    """Raises Unwritable where something is folded under a condition: its elements may lie nowhere
    where that does not hold."""
    for each in body:
        for expr in expressions_in((each,)):
            if folds_of(_both_sides(expr)) and isinstance(each, When):
                raise Unwritable("a loop under a condition")


def _both_sides(expr: Expr) -> Expr:
    """The expression where a choice by the column computes either: a fold along the row is needed
    for some column."""
    made = rebuilt(expr, _both_sides)
    if isinstance(made, Call) and made.op == "select" and COLUMN in names_in(made.args[0]):
        return Call("either", made.args, made.dtype)
    return made


def _step(kind: str, name: str, value: str) -> str:
    """A statement that combines a partial result with a value."""
    if kind in ("sum", "product"):
        return f"{name} {'+' if kind == 'sum' else '*'}= {value}"
    return f"{name} = {STEP[kind].format(name, value)}"


def _bare_load(each: Reduction) -> Load | None:
    """The element that a term is, or that it is a multiple of in every factor."""
    loads = {e for e in walk(each.term) if isinstance(e, Load) and COLUMN in names_in(e.index)}
    return next(iter(loads)) if len(loads) == 1 else None


def _neutral_by_load(each: Reduction) -> bool:
    """Whether a term is neutral where its one element is."""
    term = each.term
    if isinstance(term, Call) and term.op == "cast" and each.kind == "sum":
        term = term.args[0]
    if isinstance(term, Load):
        return True
    if each.kind != "sum" or not isinstance(term, Call) or term.op != "mul":
        return False
    plain = [a.args[0] if isinstance(a, Call) and a.op == "cast" else a for a in term.args]
    return all(isinstance(a, Load) for a in plain)


def _is_element(each: Reduction) -> bool:
    """Whether a fold begins with its own first column."""
    return substitute(each.term, {COLUMN: ZERO}) == each.first


def _begins_neutral(each: Reduction) -> bool:
    return isinstance(each.first, Number) and each.first.value == NEUTRAL[each.kind]


def side_by_side(plain: Plain, program: RowProgram) -> str:
    """The name along which most elements of what is folded lie side by side, or else most of all
    that is read: COLUMN, or that of an outer dimension."""
    exprs = [r.term for step in program.passes for r in step]
    folded = {e for each in exprs for e in walk(each) if isinstance(e, Load)}
    folded = {e for e in folded if COLUMN in names_in(e.index)}
    exprs += [e for body in program.elements for e in expressions_in(body)]
    every = {e for expr in exprs for e in walk(expr) if isinstance(e, Load)}
    return _most(folded, program) or _most(every, program) or COLUMN


def _most(loads: Collection[Load], program: RowProgram) -> str:
    counts = dict[str, int]()
    for load in loads:
        for name in (COLUMN, *(d.name for d in program.outer)):
            found = coefficient(load.index, name)
            if found is not None and found[0] == ONE:
                counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda n: counts[n]) if counts else ""
