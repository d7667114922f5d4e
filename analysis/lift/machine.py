"""What one instruction of PTX computes, as an expression over what it reads.

Sources: PTX ISA 9.0, sections 9.7.1 to 9.7.6. Integers are mathematical (`expressions.py`): a
conversion between widths changes nothing, and a comparison without sign is one with sign where both
sides are surely not negative.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from .expressions import FALSE, FLOATS, TRUE, Call, DType, Expr, Load, Number, Unreadable, call
from .sums import difference, negated, product, total

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
    if value.dtype == dtype or (dtype == "int" and isinstance(value, Number)):
        return value
    if isinstance(value, Number) and value.dtype == "int" and dtype in _FORMS:
        nbytes, form = _FORMS[dtype]
        bits = (int(value.value) % (1 << 8 * nbytes)).to_bytes(nbytes, "little")
        return Number(float(struct.unpack(form, bits)[0]), dtype)
    if isinstance(value, Call) and value.op == "bits" and value.args[0].dtype == dtype:
        return value.args[0]
    return Call("bits", (value,), dtype)


def computed(opcode: str, args: Sequence[Expr]) -> Expr:
    """The result of an instruction that touches no memory. Raises Unreadable."""
    stem, *rest = opcode.split(".")
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
        if stem not in _SIMPLE or "sat" in rest:
            raise Unreadable(f"the instruction {opcode}")
        return call(_SIMPLE[stem], *values, dtype=dtype)
    return _integer(stem, rest, values)


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
        raise Unreadable("a conversion that saturates")
    if source == target == "int":
        if nbytes_of(to) < min(nbytes_of(of), 4) and not isinstance(value, Load):
            return Call(f"wrap_{to}", (value,), "int")
        return value
    if source == target:
        return value if rounding is None else Call(rounding, (value,), target)
    if target == "int":
        return Call("cast", (Call(rounding or "trunc", (value,), source),), "int")
    return call("cast", value, dtype=target)


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
