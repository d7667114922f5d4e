"""Triton of expressions over blocks: indices are ranges along axes of one block, values broadcast,
and what is loaded has the masks of the indices that it hangs on."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ......analysis.lift.expressions import (
    COMPARES,
    FLOATS,
    Call,
    DType,
    Expr,
    Load,
    Name,
    Number,
    Sum,
    names_in,
)
from ....shared.lifted.c_expressions import Unwritable
from .integer_widths import Widths

VALUES: Mapping[DType, str] = {
    "int": "tl.int32", "bool": "tl.int1", "f16": "tl.float16", "bf16": "tl.bfloat16",
    "f32": "tl.float32", "f64": "tl.float64",
}  # fmt: skip
INFIX: Mapping[str, tuple[str, int]] = {
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1), "eq": ("==", 1),
    "ne": ("!=", 1), "or": ("|", 2), "bitor": ("|", 2), "bitxor": ("^", 3), "and": ("&", 4),
    "bitand": ("&", 4), "shl": ("<<", 5), "shr": (">>", 5), "add": ("+", 6), "sub": ("-", 6),
    "mul": ("*", 7), "div": ("/", 7), "rem": ("%", 7),
}  # fmt: skip
"""Python's operators, and how tightly each holds together"""
SUM, PRODUCT, UNARY, TIGHT = 6, 7, 8, 9
OWN: Mapping[str, str] = {
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "sin": "sin", "cos": "cos", "erf": "erf", "abs": "abs", "floor": "floor", "ceil": "ceil",
    "fma": "fma", "max": "maximum", "min": "minimum",
}  # fmt: skip
"""functions of `triton.language`"""
LIBRARY = frozenset(
    "tan tanh sinh cosh asin acos atan atan2 asinh acosh atanh expm1 log1p log10 exp10 pow cbrt "
    "rcbrt copysign hypot fmod trunc round rint erfc erfinv lgamma tgamma normcdf".split()
)
"""functions of CUDA's library, as `libdevice`"""


@dataclass(frozen=True)
class Index:
    """What an index of the lift is called here, and when it lies within its extent."""

    text: str
    inside: str = ""
    """empty: always"""
    axis: int | None = None
    """of the block that it runs along; None: it is one number a program"""


@dataclass
class TileWriter:
    """Writes expressions: what each name, load and known value is called at the place."""

    indices: dict[str, Index] = field(default_factory=dict[str, Index])
    known: dict[Expr, str] = field(default_factory=dict[Expr, str])
    words: Collection[str] = ()
    """operations of the source that are to be rounded as exactly as there"""
    library: bool = False
    """whether `libdevice` was needed"""
    widths: Widths = field(default_factory=Widths)
    guards: list[Expr] = field(default_factory=list[Expr])
    """conditions of the choices around"""
    masks: dict[str, None] = field(default_factory=dict[str, None])
    """those of several conditions that were written"""

    def text(self, expr: Expr, least: int = 0) -> str:
        """An expression, in parentheses where it holds together less than `least`. Raises
        Unwritable."""
        found, binds = self._text(expr)
        return f"({found})" if binds < least else found

    def _text(self, expr: Expr) -> tuple[str, int]:
        if expr in self.known:
            return self.known[expr], TIGHT
        match expr:
            case Number():
                text = number_text(expr)
                return text, UNARY if text.startswith("-") else TIGHT
            case Name(name):
                index = self.indices.get(name)
                return (name if index is None else index.text), TIGHT
            case Sum():
                return self._sum(expr)
            case Load():
                return self.load(expr), TIGHT
            case Call():
                return self._call(expr)
            case _:
                raise Unwritable("a loop within a loop")

    def _sum(self, expr: Sum) -> tuple[str, int]:
        words = list[str]()
        for factors, number in sorted(expr.terms, key=lambda term: term[1] < 0):
            parts = [self.text(each, PRODUCT + 1) for each in self._scalars_first(factors)]
            if abs(number) != 1 or not parts:
                parts.insert(0, str(abs(number)))
            joined = " * ".join(parts)
            sign = "-" if number < 0 else "+"
            words += [sign, joined] if words else [f"-{joined}" if number < 0 else joined]
        single = len(words) == 1
        if not single:
            return " ".join(words), SUM
        return words[0], UNARY if words[0].startswith("-") else PRODUCT if " " in words[
            0
        ] else TIGHT

    def _scalars_first(self, factors: Iterable[Expr]) -> list[Expr]:
        """Indices before sizes, as people write `row * cols`; one of 64 bits makes the product
        one of 64 bits."""
        return sorted(factors, key=lambda e: not (names_in(e) & self.indices.keys()))

    def _call(self, expr: Call) -> tuple[str, int]:
        op, args, dtype = expr.op, expr.args, expr.dtype
        if op == "select":
            return self._select(*args), TIGHT
        if op == "not":
            return f"~{self.text(args[0], UNARY + 1)}", UNARY
        if op == "neg":
            return f"-{self.text(args[0], UNARY)}", UNARY
        if op in ("and", "or") and dtype == "bool":
            left = self.text(args[0], INFIX[op][1])
            guard = args[0] if op == "and" else Call("not", (args[0],), "bool")
            right = self._guarded(guard, args[1], INFIX[op][1] + 1)
            return f"{left} {INFIX[op][0]} {right}", INFIX[op][1]
        if op == "div" and dtype in FLOATS and "tt.precise_divf" in self.words and dtype == "f32":
            return f"tl.div_rn({self.text(args[0])}, {self.text(args[1])})", TIGHT
        if op in INFIX and len(args) == 2:
            sign, binds = INFIX[op]
            sign = "//" if op == "div" and dtype == "int" else sign
            left, right = args
            if dtype in FLOATS:
                left, right = _promoted(left, right), _promoted(right, left)
            one, other = self.text(left, binds + (op in COMPARES)), self.text(right, binds + 1)
            return f"{one} {sign} {other}", binds
        if op == "cast":
            return self._cast(args[0], dtype), TIGHT
        if op == "rcp":
            return f"1.0 / {self.text(args[0], PRODUCT + 1)}", PRODUCT
        if op == "isnan":
            here = self.text(args[0], 2)
            return f"{here} != {here}", 1
        return self._function(op, args, dtype), TIGHT

    def _cast(self, value: Expr, dtype: DType) -> str:
        if isinstance(value, Call) and value.op == "trunc" and dtype == "int":
            value = value.args[0]  # what a cast does anyhow
        if not (names_in(value) & self.indices.keys()) and value not in self.known:
            return f"tl.cast({self.text(value)}, {self.type_of(dtype)})"  # Triton may know it
        return f"{self.text(value, TIGHT)}.to({self.type_of(dtype)})"

    def type_of(self, dtype: DType) -> str:
        """Triton's type of values."""
        return self.widths.values if dtype == "int" else VALUES[dtype]

    def _function(self, op: str, args: tuple[Expr, ...], dtype: DType) -> str:
        given = ", ".join(self.text(each) for each in args)
        if op == "sqrt" and "tt.precise_sqrt" in self.words and dtype == "f32":
            return f"tl.sqrt_rn({given})"
        if op in OWN and (dtype in FLOATS or op in ("max", "min", "abs")):
            return f"tl.{OWN[op]}({given})"
        if op in LIBRARY and dtype in ("f32", "f64"):
            self.library = True
            return f"libdevice.{op}({given})"
        if op in ("wrap_s8", "wrap_s16"):
            kept = f"{self.text(args[0], TIGHT)}.to(tl.int{op.removeprefix('wrap_s')})"
            return f"{kept}.to({self.widths.values})"
        raise Unwritable(f"the operation {op}")

    def _select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if isinstance(yes, Load) and yes not in self.known and isinstance(no, Number):
            self.guards.append(condition)
            try:
                return self.load(yes, other=number_text(no))
            finally:
                self.guards.pop()
        one = self._guarded(condition, yes, 0)
        other = self._guarded(Call("not", (condition,), "bool"), no, 0)
        return f"tl.where({self.text(condition)}, {one}, {other})"

    def _guarded(self, condition: Expr, expr: Expr, least: int) -> str:
        self.guards.append(condition)
        try:
            return self.text(expr, least)
        finally:
            self.guards.pop()

    def axes(self, expr: Expr) -> set[int]:
        """The axes of the block that an expression runs along."""
        found = {self.indices[n].axis for n in names_in(expr) if n in self.indices}
        return {axis for axis in found if axis is not None}

    def load(self, load: Load, other: str = "") -> str:
        """An element at every place, where its indices lie inside and the choices around hold."""
        guards, self.guards = self.guards, []
        try:
            mask = self.mask((load.index,), guards)
            index = self.text(load.index, SUM)
        finally:
            self.guards = guards
        if any(self.axes(each) - self.axes(load.index) for each in guards):
            raise Unwritable("an element that fewer places read than there are conditions for it")
        more = f", mask={mask}" if mask else ""
        more += f", other={other}" if mask and other else ""
        wider = self.widths.casts.get(load.array)
        return f"tl.load({_at(load.array, index)}{more})" + (f".to({wider})" if wider else "")

    def mask(self, exprs: Iterable[Expr], guards: Iterable[Expr] = ()) -> str:
        """The conditions that indices lie inside, and others; empty: none is needed."""
        given = list(guards)
        used = {n for e in (*exprs, *given) for n in names_in(e)}
        inside = [i.inside for n, i in self.indices.items() if n in used and i.inside]
        words = [*dict.fromkeys(inside)]
        if given or len(words) > 1:
            binds = INFIX["and"][1]
            words = [f"({each})" for each in words]
            words += [self.text(each, binds) for each in given]
        found = " & ".join(words)
        if len(words) > 1:
            self.masks.setdefault(found)
        return found


def _at(array: str, index: str) -> str:
    return array if index == "0" else f"{array} + {index}"


def _promoted(value: Expr, beside: Expr) -> Expr:
    """An integer beside a float of 32 bits or more becomes one by itself."""
    if isinstance(value, Call) and value.op == "cast" and beside.dtype == value.dtype:
        (inner,) = value.args
        if (
            inner.dtype == "int"
            and value.dtype in ("f32", "f64")
            and not isinstance(beside, Number)
        ):
            return inner
    return value


def number_text(number: Number) -> str:
    """A literal of the number's type."""
    value, dtype = number.value, number.dtype
    if dtype in ("int", "bool"):
        return str(int(value))
    if not math.isfinite(value):
        name = "nan" if math.isnan(value) else "inf"
        return f'{"-" if value < 0 else ""}float("{name}")'
    text = repr(float(value)) if dtype == "f64" else str(np.float32(value))
    return text if "." in text or "e" in text else f"{text}.0"
