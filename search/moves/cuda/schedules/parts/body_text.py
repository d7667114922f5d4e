"""C++ of statements at one place of a schedule: lets, stores, conditions, loops, folds as loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ......analysis.lift.expressions import Expr, Fold, Load, Name
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import (
    Body,
    Each,
    Let,
    Scatter,
    Statement,
    Store,
    When,
    changed,
)
from ....shared.lifted.c_expressions import (
    Unwritable,
    everywhere,
    folds_of,
    repeated,
    unconditional,
)
from ....shared.lifted.names import Names
from .c_text import TYPES, VALUES, Writer

ATOMICS = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd",
            "or": "atomicOr", "xor": "atomicXor"}  # fmt: skip
MOST_NODES = 1500
"""of an expression that is written out"""


@dataclass
class BodyWriter:
    """Lines of statements; `index` is the type of counters."""

    writer: Writer
    names: Names
    index: str
    store: Callable[[Store], str | None] = lambda _: None
    """where a value goes in place of memory; None: into memory at once"""
    update: Callable[[Scatter, str], str | None] = lambda _, __: None
    """what an atomic update of the element at an index goes to; None: memory"""

    def lines(self, body: Body, tab: str) -> Iterator[str]:
        """Statements in order; what they name is known until their block ends."""
        known = dict(self.writer.known)
        for each in body:
            yield from self._statement(each, tab)
        self.writer.known = known

    def _statement(self, statement: Statement, tab: str) -> Iterator[str]:
        match statement:
            case Store(array, index, value):
                yield from self.values([index, value], tab)
                target = self.store(statement)
                if target is None:
                    target = f"{array}[{self.writer.text(index)}]"
                yield f"{tab}{target} = {self.writer.text(value)};"
            case Let(name, value):
                yield from self.values([value], tab)
                called = self.names.fresh(name)
                yield f"{tab}const auto {called} = {self.writer.text(value)};"
                self.writer.known[Name(name, value.dtype)] = called
            case When(condition, yes, no):
                yield from self.values([condition], tab)
                yield f"{tab}if ({self.writer.text(condition)}) {{"
                yield from self.lines(yes, tab + "    ")
                if no:
                    yield f"{tab}}} else {{"
                    yield from self.lines(no, tab + "    ")
                yield f"{tab}}}"
            case Each(index, count, (), body):
                yield from self.values([count], tab)
                k = self.names.fresh(index)
                yield (
                    f"{tab}for ({self.index} {k} = 0; {k} < {self.writer.text(count)}; ++{k}) {{"
                )
                inner = _renamed(body, index, k)
                yield from self.lines(inner, tab + "    ")
                yield f"{tab}}}"
            case Scatter(op, array, index, value) if op in ATOMICS:
                yield from self.values([index, value], tab)
                at = self.writer.text(index)
                target = self.update(statement, at) or f"{array}[{at}]"
                yield f"{tab}{self._atomic(op, array, target, value)};"
            case _:
                raise Unwritable("a statement that no schedule writes")

    def _atomic(self, op: str, array: str, target: str, value: Expr) -> str:
        """An atomic update of an element in the type of the array's."""
        text = self.writer.text(value, inside=True)
        match self.writer.dtypes.get(array):
            case "float32" | "float64" if op == "add":
                return f"atomicAdd(&{target}, {text})"
            case ("int32" | "uint32") as dtype:
                return f"{ATOMICS[op]}(&{target}, ({TYPES[dtype]}){text})"
            case "int64" | "uint64" if op == "add":
                wide = "unsigned long long"
                return f"atomicAdd(({wide}*)&{target}, ({wide}){text})"
            case _:
                raise Unwritable(f"an atomic update of `{array}`, which is of no type for it")

    def values(self, exprs: list[Expr], tab: str) -> Iterator[str]:
        """What must be computed before these: folds, and what is written more than once."""
        if any(sum(1 for _ in everywhere(each)) > MOST_NODES for each in exprs):
            raise Unwritable("an expression is too long to be written")
        for each in exprs:
            for fold in folds_of(each):
                if fold not in self.writer.known:
                    yield from self._fold(fold, tab)
        for each in repeated([e for e in exprs if e not in self.writer.known]):
            if each not in self.writer.known and not _has_unknown(each, self.writer):
                called = self.names.fresh("v1")
                yield f"{tab}const {VALUES[each.dtype]} {called} = {self.writer.text(each)};"
                self.writer.known[each] = called

    def _fold(self, fold: Fold, tab: str) -> Iterator[str]:
        """A loop over the fold's iterations, with what it carries as variables before it."""
        yield from self.values([fold.count, *(each.first for each in fold.carried)], tab)
        named = {each.name: self.names.fresh(_called(fold)) for each in fold.carried}
        for each in fold.carried:
            kind = VALUES[each.dtype]
            yield f"{tab}{kind} {named[each.name]} = {self.writer.text(each.first)};"
        k = self.names.fresh(fold.index)
        count = self.writer.text(fold.count)
        outer = dict(self.writer.known)
        for each in fold.carried:
            self.writer.known[Name(each.name, each.dtype)] = named[each.name]
        yield f"{tab}for ({self.index} {k} = 0; {k} < {count}; ++{k}) {{"
        nexts = [substitute(each.next, {fold.index: Name(k)}) for each in fold.carried]
        yield from self.values(nexts, tab + "    ")
        texts = [self.writer.text(each) for each in nexts]
        if len(nexts) == 1:
            yield f"{tab}    {named[fold.carried[0].name]} = {texts[0]};"
        else:
            fresh = [self.names.fresh(f"next_{named[each.name]}") for each in fold.carried]
            for each, name, text in zip(fold.carried, fresh, texts, strict=True):
                yield f"{tab}    const {VALUES[each.dtype]} {name} = {text};"
            for each, name in zip(fold.carried, fresh, strict=True):
                yield f"{tab}    {named[each.name]} = {name};"
        yield f"{tab}}}"
        self.writer.known = outer
        for which, each in enumerate(fold.carried):
            value = Fold(fold.kind, fold.index, fold.count, fold.carried, which)
            self.writer.known[value] = named[each.name]


def _called(fold: Fold) -> str:
    return {"sum": "total", "max": "greatest", "min": "least"}.get(fold.kind, "value")


def _has_unknown(expr: Expr, writer: Writer) -> bool:
    """Whether an expression has a fold that has no name yet."""
    return any(isinstance(each, Fold) and each not in writer.known for each in everywhere(expr))


def _renamed(body: Body, index: str, name: str) -> Body:
    return changed(body, lambda each: substitute(each, {index: Name(name)}))


def loads_in(exprs: list[Expr]) -> list[Load]:
    """Every element that expressions read in any case, each once."""
    found = dict[Load, None]()
    for expr in exprs:
        for each in unconditional(expr):
            if isinstance(each, Load):
                found[each] = None
    return list(found)
