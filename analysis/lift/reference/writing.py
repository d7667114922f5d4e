"""The text of a reference from a lift: statements in their order, each fold a value of its own that
is computed where all that it hangs on is known, and but once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from ....runners.specs.spec import KernelSpec
from ..expressions import (
    FLOATS,
    Call,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Sum,
    Unreadable,
    names_in,
    walk,
)
from ..fold_laws import term_of
from ..operations import TYPES
from ..statements import Barrier, Body, Each, Let, Lifted, Scatter, Store, When, expressions_in
from .given import Given, own

MOST_AXES: Final = 8
_INFIX: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&", "or": "|", "bitand": "&", "bitor": "|", "bitxor": "^",
    "shl": "<<", "shr": ">>",
}  # fmt: skip
_NUMPY: Final = {
    "abs": "abs", "max": "fmax", "min": "fmin", "sqrt": "sqrt", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "pow": "power",
    "powi": "power", "neg": "negative", "not": "logical_not", "hypot": "hypot", "cbrt": "cbrt",
    "bitnot": "invert", "isnan": "isnan", "copysign": "copysign",
}  # fmt: skip
_SHORT: Final = {"f16": '"float16"'}
_CALLED: Final = """


def reference(**given):
    return computed(given, True)


def as_the_kernel(**given):
    return computed(given, False)
"""


def reference_source(lifted: Lifted, spec: KernelSpec) -> str:
    """A numpy source of what a kernel computes, over the arguments of its contract, which the
    kernel's parameters are called like: the function `reference` in float64, each sum by numpy's
    own, and `as_the_kernel` in the types that the kernel has and in the order of a plain loop.

    Raises Unreadable where nothing is summed (then the baseline rounds as any other), and for what
    numpy has no plain text for: loops that carry values, other updates than of one element.
    """
    if not any(_is_summed(each) for each in _everything(lifted)):
        raise Unreadable("it sums no floats, so that it rounds like any other")
    return f"{_prelude()}\n\n{_Writer(lifted, spec).text()}"


@cache
def _prelude() -> str:
    return (Path(__file__).parent / "prelude.py").read_text(encoding="utf-8")


def _everything(lifted: Lifted) -> list[Expr]:
    return [each for expr in expressions_in(lifted.body) for each in walk(expr)]


def _is_summed(expr: Expr) -> bool:
    return isinstance(expr, Fold) and expr.kind in ("sum", "product") and expr.dtype in FLOATS


@dataclass
class _Scope:
    """Lines of a block of the text, what is indexed there, and the folds that it has computed."""

    depth: int
    indices: dict[str, int]
    """by index, its axis"""
    lines: list[str] = field(default_factory=list[str])
    folds: dict[Fold, str] = field(default_factory=dict[Fold, str])

    def line(self, text: str) -> None:
        """Another line of the block."""
        self.lines.append("    " * self.depth + text)


class _Writer:
    """Writes one function."""

    def __init__(self, lifted: Lifted, spec: KernelSpec) -> None:
        self._lifted = lifted
        self._given = Given(spec)
        self._scopes = [_Scope(1, {})]
        self._count = 0

    def text(self) -> str:
        """The function."""
        outermost = self._scopes[0]
        for text in self._given.beginning():
            outermost.line(text)
        dims = self._lifted.dims
        loops = bool(dims)
        if loops:
            first, *others = dims
            extents = [*(d.extent for d in others), *self._loops(self._lifted.body)]
            places = " * ".join(["1", *(f"({self._value(each)})" for each in extents)])
            extent = self._value(first.extent)
            outermost.line(f"for {own(first.name)} in floats.pieces({extent}, 0, {places}):")
            inner = _Scope(2, {first.name: 0})
            self._scopes.append(inner)
            for axis, dim in enumerate(others, 1):
                inner.indices[dim.name] = axis
                inner.line(f"{own(dim.name)} = floats.index({self._value(dim.extent)}, {axis})")
        self._body(self._lifted.body, None)
        if loops:
            outermost.lines += self._scopes.pop().lines
        outermost.line(self._given.end())
        return "\n".join(["def computed(given, exact):", *outermost.lines]) + _CALLED

    def _loops(self, body: Body) -> list[Expr]:
        """Sizes of the longest chain of loops, as far as they are one."""
        for each in body:
            if isinstance(each, Each):
                return [each.count, *self._loops(each.body)]
        return []

    def _body(self, body: Body, where: str | None) -> None:
        for each in body:
            scope = self._scopes[-1]
            match each:
                case Store(array, index, value):
                    self._store(array, index, value, where)
                case Scatter("add", array, index, value) if not self._axes():
                    now = Load(array, index, value.dtype)
                    self._store(array, index, Call("add", (now, value), value.dtype), where)
                case Let(name, value):
                    scope.line(f"{own(name)} = {self._value(value)}")
                case When(condition, yes, no):
                    holds = self._fresh("holds")
                    scope.line(f"{holds} = np.asarray({self._value(condition)}, like=first)")
                    self._body(yes, holds if where is None else f"({where} & {holds})")
                    other = f"~{holds}"
                    self._body(no, other if where is None else f"({where} & {other})")
                case Each():
                    self._each(each, where)
                case Barrier():
                    pass
                case _:
                    raise Unreadable("numpy has no plain text for an update of many elements")

    def _store(self, array: str, index: Expr, value: Expr, where: str | None) -> None:
        masked = "" if where is None else f", {where}"
        stored = f"floats.counted({self._value(value)})"
        text = f"put({own(array)}, {self._value(index)}, {stored}{masked})"
        self._scopes[-1].line(text)

    def _each(self, loop: Each, where: str | None) -> None:
        """A loop that carries nothing is an axis more."""
        if loop.carried:
            raise Unreadable("a loop of it carries values from turn to turn")
        scope, axis = self._scopes[-1], self._axes()
        if axis >= MOST_AXES or self._indices() & names_in(loop.count):
            raise Unreadable("the length of a loop hangs on a place")
        scope.line(f"{own(loop.index)} = floats.index({self._value(loop.count)}, {axis})")
        for each in [f for f in scope.folds if loop.index in names_in(f)]:
            del scope.folds[each]
        scope.indices[loop.index] = axis
        self._body(loop.body, where)
        del scope.indices[loop.index]

    def _axes(self) -> int:
        return sum(len(each.indices) for each in self._scopes)

    def _indices(self) -> set[str]:
        return {name for each in self._scopes for name in each.indices}

    def _fresh(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"

    def _value(self, expr: Expr) -> str:
        """An expression as text of the innermost scope."""
        match expr:
            case Number(value, dtype):
                if isinstance(value, float) and (value != value or abs(value) == float("inf")):
                    return f'float("{value}")'
                return f"({bool(value)})" if dtype == "bool" else f"({value!r})"
            case Name(name):
                return own(name)
            case Sum(terms):
                return f"({' + '.join(self._product(*term) for term in terms) or '0'})"
            case Load(array, index):
                if array not in self._given.arrays:
                    raise Unreadable(f"{array} is no array of the contract")
                return f"at({own(array)}, {self._value(index)})"
            case Fold():
                return self._fold(expr)
            case Call():
                return self._call(expr)
            case _:
                raise Unreadable("an address as a value")

    def _product(self, factors: tuple[Expr, ...], number: int) -> str:
        return " * ".join([f"({number})", *map(self._value, factors)])

    def _call(self, expr: Call) -> str:
        args, op = [self._value(each) for each in expr.args], expr.op.removeprefix("fast_")
        if op in ("div", "rem") and expr.dtype == "int":
            return f"{'quotient' if op == 'div' else 'rest'}({args[0]}, {args[1]})"
        if op in _INFIX:
            return f"({args[0]} {_INFIX[op]} {args[1]})"
        if op in _NUMPY:
            name = _NUMPY[op]
            return f"np.{name}({', '.join(args)})"
        match op:
            case "select":
                return f"np.where({args[0]}, {args[1]}, {args[2]})"
            case "rsqrt":
                return f"(1 / np.sqrt({args[0]}))"
            case "rcp":
                return f"(1 / {args[0]})"
            case "fma":
                return f"({args[0]} * {args[1]} + {args[2]})"
            case "cast":
                return self._cast(expr, args[0])
            case _:
                raise Unreadable(f"numpy has no plain text for {expr.op}")

    def _cast(self, expr: Call, value: str) -> str:
        if expr.dtype == "f64":
            return f"floats.double({value})"
        if expr.dtype in FLOATS:
            short = _SHORT.get(expr.dtype, "")
            return f"floats.real({value}{', ' + short if short else ''})"
        return f"floats.whole({value})" if expr.dtype in TYPES else value

    def _fold(self, fold: Fold) -> str:
        """The name of a fold's value, which is computed in the outermost scope that can."""
        term = term_of(fold)
        if term is None:
            raise Unreadable(f"a loop of it is no plain sum, product or extreme ({fold.kind})")
        depth = self._depth_of(fold)
        scope = self._scopes[depth]
        if fold not in scope.folds:
            inner, self._scopes = self._scopes[depth + 1 :], self._scopes[: depth + 1]
            name = self._written(fold, term, scope)
            self._scopes += inner
            scope.folds[fold] = name
        return scope.folds[fold]

    def _depth_of(self, fold: Fold) -> int:
        """The outermost scope where all indices are known that a fold names, and values that are
        taken in the order of statements."""
        names = names_in(fold)
        lets = not names <= (self._indices() | self._given.sizes.keys() | _bound_in(fold))
        if lets:
            return len(self._scopes) - 1
        return max((n for n, s in enumerate(self._scopes) if s.indices.keys() & names), default=0)

    def _written(self, fold: Fold, term: Expr, scope: _Scope) -> str:
        axis = self._axes()
        if axis >= MOST_AXES or self._indices() & names_in(fold.count):
            raise Unreadable("the length of a sum hangs on a place")
        name, first = self._fresh(fold.kind), self._value(fold.carried[0].first)
        count, inner = self._value(fold.count), _Scope(scope.depth + 1, {fold.index: axis})
        self._scopes.append(inner)
        value = self._value(term)
        self._scopes.pop()
        scope.line(f"def term_of_{name}({own(fold.index)}):")
        scope.lines += inner.lines
        inner.lines = []
        inner.line(f"return {value}")
        scope.lines += inner.lines
        scope.line(
            f'{name} = floats.folded("{fold.kind}", term_of_{name}, {count}, {axis}, {first})'
        )
        return name


def _bound_in(fold: Fold) -> set[str]:
    """Indices and carried names of a fold and of those within it."""
    folds = [each for each in walk(fold) if isinstance(each, Fold)]
    return {each.index for each in folds} | {c.name for each in folds for c in each.carried}
