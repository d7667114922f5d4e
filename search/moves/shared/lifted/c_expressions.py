"""C++ of expressions: in the types and the order of operations that the lift has. What one language
alone has words for, such as casts and functions, its own writer says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .....analysis.lift.expressions import (
    COMPARES,
    FLOATS,
    Call,
    DType,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Sum,
)

INFIX: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&&", "or": "||",
    "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip


class Unwritable(Exception):
    """What a schedule cannot write, in words; told as a reason, and never leaves a move."""


@dataclass
class CWriter(ABC):
    """Writes expressions: what each name, load and known value is called at the place."""

    names: Mapping[str, str]
    """of coordinates and what else is no parameter"""
    dtypes: Mapping[str, str]
    """contract types of arrays"""
    known: dict[Expr, str] = field(default_factory=dict[Expr, str])
    """expressions whose values have a name here"""
    load: Callable[[Load], str | None] = lambda _: None
    """what an element is called that was loaded before; None: it is loaded where it is used"""

    def text(self, expr: Expr, *, inside: bool = False) -> str:
        """An expression; `inside` another it stands in parentheses where it has operators. Raises
        Unwritable."""
        if expr in self.known:
            return self.known[expr]
        match expr:
            case Number():
                return self.number(expr)
            case Name(name):
                return self.names.get(name, name)
            case Sum():
                return self._sum(expr, inside=inside)
            case Load():
                return self._load(expr)
            case Call():
                return self._call(expr, inside=inside)
            case _:
                raise Unwritable("a loop or an address as a value")

    def _load(self, load: Load) -> str:
        found = self.load(load)
        if found is None:
            found = f"{load.array}[{self.text(load.index)}]"
        return as_value(found, self.dtypes.get(load.array, ""))

    def _sum(self, expr: Sum, *, inside: bool) -> str:
        words = list[str]()
        for factors, number in expr.terms:
            parts = [self.text(each, inside=True) for each in factors]
            if abs(number) != 1 or not parts:
                parts.append(str(abs(number)) if abs(number) < 1 << 31 else f"{abs(number)}LL")
            sign = "-" if number < 0 else "+"
            joined = self.product(parts, factors)
            words += [sign, joined] if words else [f"-{joined}" if number < 0 else joined]
        return bracketed(" ".join(words), inside and (len(words) > 1 or " " in words[0]))

    def _call(self, expr: Call, *, inside: bool) -> str:
        op, args, dtype = expr.op, expr.args, expr.dtype
        if op == "select":
            condition, yes, no = args
            text = f"{self.text(condition, inside=True)} ? {self.text(yes, inside=True)} : "
            return bracketed(text + self.text(no, inside=True), inside)
        if op == "not":
            return f"!{self.text(args[0], inside=True)}"
        if op == "neg":
            return bracketed(f"-{self.text(args[0], inside=True)}", inside)
        if op in INFIX and len(args) == 2:
            left, right = (self.text(each, inside=True) for each in args)
            return bracketed(f"{left} {INFIX[op]} {right}", inside)
        if op[:2] in COMPARES and op[2:4] == "_u":
            kind = "unsigned long long" if op.endswith("64") else "unsigned"
            left, right = (self.text(each, inside=True) for each in args)
            return bracketed(f"({kind}){left} {INFIX[op[:2]]} ({kind}){right}", inside)
        if op == "cast":
            return self.cast(args[0], dtype)
        if op == "bits":
            return self.bits(args[0], dtype)
        if dtype in FLOATS or op == "isnan":
            return self.function(op, args, dtype)
        return self._integer(op, args, inside=inside)

    @abstractmethod
    def product(self, parts: list[str], factors: tuple[Expr, ...]) -> str:
        """A product of integers; `parts`: the factors as text, and the number behind them."""

    @abstractmethod
    def number(self, number: Number) -> str:
        """A literal of the number's type."""

    @abstractmethod
    def cast(self, value: Expr, dtype: DType) -> str:
        """A value as another type."""

    @abstractmethod
    def bits(self, value: Expr, dtype: DType) -> str:
        """The bits of a value as another type."""

    @abstractmethod
    def function(self, op: str, args: tuple[Expr, ...], dtype: DType) -> str:
        """A function of floats."""

    def _integer(self, op: str, args: tuple[Expr, ...], *, inside: bool) -> str:
        given = [self.text(each, inside=True) for each in args]
        if op in ("max", "min"):
            left, right = given
            sign = ">" if op == "max" else "<"
            return f"({left} {sign} {right} ? {left} : {right})"
        if op == "abs":
            return f"({given[0]} < 0 ? -{given[0]} : {given[0]})"
        if op == "bitnot":
            return f"~{given[0]}"
        if op == "elements":
            return bracketed(f"{given[0]} / {given[1]}", inside)
        kinds = {"8": "char", "16": "short", "32": "int", "64": "long long"}
        if op.startswith("wrap_") and op[6:] in kinds:
            sign = "unsigned " if op[5] == "u" else "signed "
            return f"(long long)({sign}{kinds[op[6:]]}){given[0]}"
        raise Unwritable(f"the operation {op}")


def as_value(text: str, dtype: str) -> str:
    """An element as a value: integers without sign are those of mathematics."""
    if dtype == "uint64":
        raise Unwritable("elements of uint64")
    return f"(long long){text}" if dtype == "uint32" else text


def bracketed(text: str, inside: bool) -> str:
    """In parentheses where asked for."""
    return f"({text})" if inside else text


def unconditional(expr: Expr) -> Iterator[Expr]:
    """An expression and what beneath it is computed whenever it is: no side of a choice, and
    nothing within a loop but where it starts and ends."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        match here:
            case Sum(terms):
                pending += [factor for factors, _ in terms for factor in factors]
            case Call("select", (condition, _, _)):
                pending.append(condition)
            case Call("and" | "or", (left, _), "bool"):
                pending.append(left)
            case Call(_, args):
                pending += args
            case Load(_, index):
                pending.append(index)
            case Fold(_, _, count, carried):
                pending += [count, *(each.first for each in carried)]
            case _:
                pass


def everywhere(expr: Expr) -> Iterator[Expr]:
    """An expression and all beneath it, what is conditional too; folds are not entered."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        match here:
            case Sum(terms):
                pending += [factor for factors, _ in terms for factor in factors]
            case Call(_, args):
                pending += args
            case Load(_, index):
                pending.append(index)
            case _:
                pass


def folds_of(expr: Expr) -> list[Fold]:
    """The folds that an expression needs in any case. Raises Unwritable for one within a side of a
    choice."""
    certain = [each for each in unconditional(expr) if isinstance(each, Fold)]
    if any(isinstance(each, Fold) and each not in certain for each in everywhere(expr)):
        raise Unwritable("a loop on one side of a choice")
    return list(dict.fromkeys(certain))


def repeated(exprs: list[Expr]) -> list[Expr]:
    """Operations on floats that are written more than once and computed anyhow: worth a name each,
    the inner ones first."""
    certain = [each for expr in exprs for each in unconditional(expr)]
    counts = dict[Expr, int]()
    for expr in exprs:
        for each in everywhere(expr):
            counts[each] = counts.get(each, 0) + 1
    found = dict[Expr, int]()
    for each in certain:
        if isinstance(each, Call) and each.dtype in FLOATS and counts[each] > 1:
            found[each] = sum(1 for _ in everywhere(each))
    ordered = sorted(found, key=lambda each: found[each])
    return [each for each in ordered if not _only_within(each, ordered, counts)]


def _only_within(each: Expr, found: list[Expr], counts: Mapping[Expr, int]) -> bool:
    """Whether it is written only as a part of one other that has a name."""
    return any(
        other != each and counts[other] == counts[each] and each in set(everywhere(other))
        for other in found
    )
