"""What one instruction of PTX computes, as an expression over what it reads; and functions of
CUDA's mathematical library by their names in PTX.

Sources: PTX ISA 9.0, sections 9.7.1 to 9.7.6. Integers are mathematical (`expressions.py`): a
conversion between widths changes nothing, and a comparison without sign is one with sign where both
sides are surely not negative.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .expressions import (
    FALSE,
    FLOATS,
    TRUE,
    ZERO,
    Call,
    DType,
    Expr,
    Load,
    Number,
    Unreadable,
    call,
)
from .sums import (
    difference,
    each_part,
    negated,
    packed,
    pieces_of_bits,
    product,
    total,
    unpacked,
    width_of,
)

_SIMPLE = {
    "min": "min", "max": "max", "abs": "abs", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin",
    "cos": "cos", "lg2": "log2", "ex2": "exp2", "tanh": "tanh", "rcp": "rcp",
    "copysign": "copysign",
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "fma": "fma", "mad": "fma",
    "neg": "neg",
}  # fmt: skip
"""operations on floats that are themselves"""
_ROUNDS = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_BITS = {"and": "bitand", "or": "bitor", "xor": "bitxor", "not": "bitnot"}
_ORDERED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FORMS: dict[DType, tuple[int, str]] = {"f16": (2, "<e"), "f32": (4, "<f"), "f64": (8, "<d")}
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def dtype_of(kind: str) -> DType:
    """The type of values of a PTX type: f32, s64, b16, pred."""
    if kind == "pred":
        return "bool"
    if kind in FLOATS:
        return kind  # type: ignore[return-value]
    if kind.startswith(("bf", "f", "e4", "e5", "tf")):
        raise Unreadable(f"values of type {kind}")
    return "int"


def nbytes_of(kind: str) -> int:
    """Bytes of a PTX type such as u32."""
    return int(kind.lstrip("bsuf")) // 8


def as_type(value: Expr, dtype: DType) -> Expr:
    """A value as one of another type with the same bits."""
    if isinstance(value, Number) and value.dtype == "int" and dtype == "bool":
        return TRUE if value.value else FALSE
    if width_of(value) and dtype in ("f32", "bf16", "f16"):
        return _of_pack(value, dtype)
    if value.dtype == dtype or (dtype == "int" and isinstance(value, Number)):
        return value
    if isinstance(value, Number) and value.dtype == "int" and dtype == "bf16":
        half = as_type(Number(int(value.value) << 16), "f32")
        return Number(half.value, "bf16") if isinstance(half, Number) else half
    if isinstance(value, Number) and value.dtype == "int" and dtype in _FORMS:
        nbytes, form = _FORMS[dtype]
        bits = (int(value.value) % (1 << 8 * nbytes)).to_bytes(nbytes, "little")
        return Number(float(struct.unpack(form, bits)[0]), dtype)
    if isinstance(value, Call) and value.op == "bits" and value.args[0].dtype == dtype:
        return value.args[0]
    if isinstance(value, Call) and value.op == "select" and value.dtype != dtype:
        condition, *sides = value.args
        made = [as_type(each, dtype) for each in sides]
        if not any(isinstance(each, Call) and each.op == "bits" for each in made):
            return call("select", condition, *made, dtype=dtype)
    return Call("bits", (value,), dtype)


def _of_pack(value: Expr, dtype: DType) -> Expr:
    """A pack as a float: bfloat16 behind two bytes of nothing is a float32."""
    halves = unpacked(value, 2, 2) if dtype == "f32" else None
    if halves is not None and halves[0] == ZERO:
        return call("cast", as_type(halves[1], "bf16"), dtype="f32")
    return Call("bits", (value,), dtype)


def computed(opcode: str, args: Sequence[Expr]) -> Expr:
    """The result of an instruction that touches no memory. Raises Unreadable."""
    stem, *rest = opcode.split(".")
    if stem == "cvt" and rest[-2] in ("f16x2", "bf16x2"):
        half = opcode.replace(rest[-2], rest[-2].removesuffix("x2"))
        return packed([computed(half, [each]) for each in reversed(args)], 2)
    if stem != "cvt" and (pairs := each_part(opcode, args)) is not None:
        return packed([computed(pairs[1], each) for each in pairs[0]], 2)
    if stem == "cvt":
        return _converted(rest, args[0])
    if stem == "setp":
        return _compared(rest, args)
    kind = rest[-1] if rest else ""
    dtype = dtype_of(kind)
    if stem in ("mov", "cvta"):
        return as_type(args[0], dtype)
    if stem == "selp":
        yes, no = (as_type(each, dtype) for each in args[:2])
        return call("select", args[2], yes, no, dtype=dtype)
    values = [as_type(each, dtype) for each in args]
    if dtype == "bool":
        return _logical(stem, values)
    if dtype in FLOATS:
        if stem not in _SIMPLE:
            raise Unreadable(f"the instruction {opcode}")
        found = call(_SIMPLE[stem], *values, dtype=dtype)
        return _saturated(found, dtype) if "sat" in rest else found
    return _integer(stem, rest, values)


def _saturated(value: Expr, dtype: DType) -> Expr:
    """Between 0 and 1; what is no number becomes 0."""
    above = call("max", value, Number(0.0, dtype), dtype=dtype)
    return call("min", above, Number(1.0, dtype), dtype=dtype)


def _logical(stem: str, values: Sequence[Expr]) -> Expr:
    if stem == "xor":
        left, right = values
        both = call("and", left, right, dtype="bool")
        either = call("or", left, right, dtype="bool")
        return call("and", either, call("not", both, dtype="bool"), dtype="bool")
    if stem not in ("and", "or", "not"):
        raise Unreadable(f"the instruction {stem}.pred")
    return call(stem, *values, dtype="bool")


def _integer(stem: str, rest: Sequence[str], values: Sequence[Expr]) -> Expr:
    if stem in _ARITHMETIC and "hi" not in rest and "cc" not in rest:
        return _ARITHMETIC[stem](values)
    if stem == "shl" and isinstance(values[1], Number):
        return product(values[0], Number(1 << int(values[1].value)))
    if stem in ("and", "shr") and isinstance(values[1], Number):
        op = "bitand" if stem == "and" else stem
        found = pieces_of_bits(op, values[0], int(values[1].value), rest[-1][0] == "s")
        if found is not None:
            return found
    if stem in _BITS:
        return call(_BITS[stem], *values, dtype="int")
    if stem in ("div", "rem", "min", "max", "abs", "shl", "shr"):
        return call(stem, *values, dtype="int")
    raise Unreadable(f"the instruction {'.'.join((stem, *rest))}")


_ARITHMETIC: dict[str, Callable[[Sequence[Expr]], Expr]] = {
    "add": total,
    "sub": lambda v: difference(v[0], v[1]),
    "mul": lambda v: product(*v),
    "mad": lambda v: total((product(v[0], v[1]), v[2])),
    "neg": lambda v: negated(v[0]),
}


def _converted(rest: Sequence[str], value: Expr) -> Expr:
    to, of = rest[-2], rest[-1]
    target, source = dtype_of(to), dtype_of(of)
    value = as_type(value, source)
    rounding = next((_ROUNDS[each] for each in rest if each in _ROUNDS), None)
    if "sat" in rest:
        if target not in FLOATS or source != target:
            raise Unreadable("a conversion that saturates")
        return _saturated(value, target)
    if source == target == "int":
        if width_of(value):
            return _first_of_pack(value, to, of)
        if nbytes_of(to) < min(nbytes_of(of), 4) and not isinstance(value, Load):
            return value if _is_truth(value) else _wrapped(to, value)
        if nbytes_of(to) > nbytes_of(of) and isinstance(value, Call) and value.op[:5] == "wrap_":
            return _wrapped(of, value) if int(value.op[6:]) == 8 * nbytes_of(of) else value
        return value
    if source == target:
        return value if rounding is None else Call(rounding, (value,), target)
    if target == "int":
        return Call("cast", (Call(rounding or "trunc", (value,), source),), "int")
    return call("cast", value, dtype=target)


def _wrapped(kind: str, value: Expr) -> Expr:
    """The lowest bits of an integer, with or without a sign; of what has no more of them anyway, of
    that."""
    inner = value
    while (
        isinstance(inner, Call) and inner.op[:5] == "wrap_" and int(inner.op[6:]) >= int(kind[1:])
    ):
        inner = inner.args[0]
    return Call(f"wrap_{kind}", (inner,), "int")


def _is_truth(value: Expr) -> bool:
    """Whether it is 0 or 1, which every width holds."""
    if isinstance(value, Call) and value.op == "select":
        return all(_is_truth(each) for each in value.args[1:])
    return isinstance(value, Number) and value.value in (0, 1)


def _first_of_pack(value: Expr, to: str, of: str) -> Expr:
    """The part of a pack that a conversion between integers leaves."""
    width, kind = width_of(value), min(to, of, key=nbytes_of)
    kept = nbytes_of(kind)
    assert isinstance(value, Call)
    parts = list(value.args[: max(1, kept // width)]) if value.op == f"pack{width}" else []
    if not parts or kept % width:
        raise Unreadable("a part of an element")
    if len(parts) > 1:
        return packed(parts, width)
    return _wrapped(kind, as_type(parts[0], "int"))


def _compared(rest: Sequence[str], args: Sequence[Expr]) -> Expr:
    comparison, kind = rest[0], rest[-1]
    if len(args) > 2:
        raise Unreadable("a comparison joined with a predicate")
    dtype = dtype_of(kind)
    left, right = (as_type(each, dtype) for each in args)
    if dtype in FLOATS:
        if comparison in ("nan", "num"):
            either = [call("ne", each, each, dtype="bool") for each in (left, right)]
            found = call("or", *either, dtype="bool")
            return found if comparison == "nan" else call("not", found, dtype="bool")
        if comparison in ("neu", "equ"):
            return call(_UNORDERED[comparison], left, right, dtype="bool")
        if comparison in _UNORDERED:
            ordered = call(_UNORDERED[comparison], left, right, dtype="bool")
            return call("not", ordered, dtype="bool")
        return call(comparison, left, right, dtype="bool")
    unsigned = kind.startswith("u") or comparison in _ORDERED
    comparison = _ORDERED.get(comparison, comparison)
    if unsigned and comparison not in ("eq", "ne"):
        comparison = f"{comparison}_{kind.replace('s', 'u')}"
    return call(comparison, left, right, dtype="bool")


OF_HALVES = re.compile(
    r"_Z\d+h(2?)(exp|exp2|exp10|log|log2|log10|sqrt|rsqrt|rcp|sin|cos|tanh|tanh_approx)"
    r"(?:6__half|7__half2|13__nv_bfloat16|14__nv_bfloat162)$"
)
"""`hexp(x)` and its like, for which the library has corrections of single results: taken as the
function of a float, rounded"""
_SAME = (
    "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 pow "
    "erf erfc sqrt rsqrt cbrt floor ceil trunc rint round fmod fma hypot copysign normcdf lgamma "
    "tgamma asinh acosh atanh erfinv rcbrt"
).split()
_FAST = "exp log log2 log10 sin cos tan pow exp10".split()


class Known(NamedTuple):
    """A function of the library."""

    op: str
    dtype: DType
    """of the result"""
    takes: tuple[DType, ...]


def _table() -> dict[str, Known]:
    found = dict[str, Known]()
    two, three = {"atan2", "pow", "fmod", "hypot", "copysign"}, {"fma"}
    for suffix, dtype in (("f", "f32"), ("", "f64")):
        kind: DType = "f32" if dtype == "f32" else "f64"

        def add(name: str, op: str, count: int, kind: DType = kind) -> None:
            found[name] = Known(op, kind, (kind,) * count)

        for op in _SAME:
            add(f"{op}{suffix}", op, 2 if op in two else 3 if op in three else 1)
        for name, op, count in (("fabs", "abs", 1), ("fmax", "max", 2), ("fmin", "min", 2)):
            add(f"{name}{suffix}", op, count)
        letter = "f" if suffix else "d"
        for name in ("add", "sub", "mul", "div"):
            add(f"{letter}{name}_rn", name, 2)
        found[f"powi{suffix}"] = Known("powi", kind, (kind, "int"))
        found[f"isnan{letter}"] = Known("isnan", "int", (kind,))
    for op in _FAST:
        count = 2 if op == "pow" else 1
        found[f"fast_{op}f"] = Known(f"fast_{op}", "f32", ("f32",) * count)
    found["fast_fdividef"] = Known("fast_div", "f32", ("f32", "f32"))
    for prefix in ("", "u", "ll", "ull"):
        for op in ("max", "min"):
            found[f"{prefix}{op}"] = Known(op, "int", ("int", "int"))
    found |= {name: Known("abs", "int", ("int",)) for name in ("abs", "llabs")}
    found["int_as_float"] = Known("bits", "f32", ("int",))
    found["float_as_int"] = Known("bits", "int", ("f32",))
    return found


KNOWN = _table()


def known_function(name: str) -> Known | None:
    """What a function of PTX computes, None for one that is not of the library."""
    return KNOWN.get(name.removeprefix("__nv_")) if name.startswith("__nv_") else None


def applied(function: Known, args: Sequence[Expr]) -> Expr:
    """The call as an expression. Raises Unreadable."""
    if len(args) != len(function.takes):
        raise Unreadable(f"{function.op} of {len(args)} values")
    values = [as_type(each, kind) for each, kind in zip(args, function.takes, strict=True)]
    if function.op == "bits":
        return as_type(values[0], function.dtype)
    return call(function.op, *values, dtype=function.dtype)
