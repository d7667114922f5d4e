"""Triton of statements at one place: values that are loaded or used twice have names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ......analysis.lift.expressions import Call, Expr, Fold, Load, Name, parts
from ......analysis.lift.statements import Body, Let, Scatter, Store, When
from ....shared.lifted.c_expressions import Unwritable, everywhere, repeated, unconditional
from ....shared.lifted.names import Names
from .tile_text import SUM, TileWriter

MOST_NODES = 600
"""of an expression that is written out"""
STEP = "    "


@dataclass
class Lines:
    """Lines of a kernel, as they come."""

    writer: TileWriter
    names: Names
    tab: str = STEP
    out: list[str] = field(default_factory=list[str])

    def add(self, *lines: str) -> None:
        """Further lines, as far to the right as what stands around them."""
        self.out += [f"{self.tab}{line}" for line in lines]

    def inside(self, head: str) -> None:
        """The head of a block, which has begun."""
        self.add(head)
        self.tab += STEP

    def ended(self, known: dict[Expr, str]) -> None:
        """The block has ended: what is known is what was known before it."""
        self.tab = self.tab[: -len(STEP)]
        self.writer.known = known

    def statements(self, body: Body) -> None:
        """Statements in order. Raises Unwritable."""
        for each in body:
            match each:
                case Store(array, index, value):
                    self.values([index, value])
                    self._store(array, index, value)
                case Scatter("add", array, index, value):
                    self.values([index, value])
                    self._store(array, index, value, "tl.atomic_add")
                case Let(name, value):
                    self.values([value])
                    called = self.names.fresh(name)
                    self.add(f"{called} = {self.writer.text(value)}")
                    self.writer.known[Name(name, value.dtype)] = called
                case When(condition, yes, no) if not no:
                    self.values([condition])
                    self.writer.guards.append(condition)
                    known = dict(self.writer.known)
                    self.statements(yes)
                    self.writer.known = known
                    self.writer.guards.pop()
                case _:
                    raise Unwritable("a statement that no schedule writes")

    def _store(self, array: str, index: Expr, value: Expr, function: str = "tl.store") -> None:
        writer = self.writer
        guards, writer.guards = writer.guards, []
        if (writer.axes(value) - writer.axes(index)) or any(
            writer.axes(each) - writer.axes(index) for each in guards
        ):
            raise Unwritable("several places store to one element")
        mask = writer.mask((index,), guards)
        place = writer.text(index, SUM)
        target = array if place == "0" else f"{array} + {place}"
        writer.guards = guards
        told = writer.text(value)
        self.add(f"{function}({target}, {told}{f', mask={mask}' if mask else ''})")

    def values(self, exprs: Iterable[Expr], other: dict[Load, str] | None = None) -> None:
        """Names for what is loaded in any case, and for what is used more than once. `other`: what
        loads give beyond their masks."""
        given = list(exprs)
        if any(sum(1 for _ in everywhere(each)) > MOST_NODES for each in given):
            raise Unwritable("an expression is too long to be written")
        for each in given:
            self._check(each)
            for load in reversed([e for e in self._needed(each) if isinstance(e, Load)]):
                if load not in self.writer.known:
                    called = self.names.fresh(_called(load.array))
                    text = self.writer.load(load, (other or {}).get(load, ""))
                    self.add(f"{called} = {text}")
                    self.writer.known[load] = called
        for each in repeated([e for e in given if e not in self.writer.known]):
            if each not in self.writer.known and not _is_of_size(each):
                called = self.names.fresh("v")
                self.add(f"{called} = {self.writer.text(each)}")
                self.writer.known[each] = called

    def _needed(self, expr: Expr) -> list[Expr]:
        """What is computed in any case and not known yet: nothing of what has a name."""
        open_parts, pending = set[Expr](), [expr]
        while pending:
            here = pending.pop()
            if here not in self.writer.known:
                open_parts.add(here)
                pending += parts(here)
        return [each for each in unconditional(expr) if each in open_parts]

    def _check(self, expr: Expr) -> None:
        pending = [expr]
        while pending:
            here = pending.pop()
            if here in self.writer.known:
                continue
            if isinstance(here, Fold):
                raise Unwritable("a loop that other schedules may write")
            pending += parts(here)


def _is_of_size(expr: Expr) -> bool:
    """Whether it is a size as a float, which stands as the size itself beside others."""
    return isinstance(expr, Call) and expr.op == "cast" and expr.args[0].dtype == "int"


def _called(array: str) -> str:
    """What an element of an array is called: that of `x_ptr` is `x_here`."""
    plain = array.removesuffix("_ptr").removesuffix("_pointer").strip("_") or "value"
    return f"{plain}_here"
