"""What operations of TTIR compute on elements, by their names."""

from __future__ import annotations

import re
import struct

from ..expressions import FLOATS, DType, Expr, Number, Unreadable, call
from ..machine import as_type
from ..sums import difference, product, total

FLOAT_OPS = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div",
    "arith.remf": "fmod", "arith.negf": "neg", "arith.maxnumf": "max", "arith.minnumf": "min",
    "arith.maximumf": "max", "arith.minimumf": "min", "math.exp": "exp", "math.exp2": "exp2",
    "math.log": "log", "math.log2": "log2", "math.log10": "log10", "math.log1p": "log1p",
    "math.expm1": "expm1", "math.sqrt": "sqrt", "math.rsqrt": "rsqrt", "math.sin": "sin",
    "math.cos": "cos", "math.tan": "tan", "math.tanh": "tanh", "math.erf": "erf",
    "math.absf": "abs", "math.floor": "floor", "math.ceil": "ceil", "math.trunc": "trunc",
    "math.roundeven": "rint", "math.round": "round", "math.fma": "fma", "math.powf": "pow",
    "math.atan2": "atan2", "math.copysign": "copysign", "math.cbrt": "cbrt",
    "tt.precise_sqrt": "sqrt", "tt.precise_divf": "div",
}  # fmt: skip
INT_OPS = {
    "arith.divsi": "div", "arith.divui": "div", "arith.remsi": "rem", "arith.remui": "rem",
    "arith.maxsi": "max", "arith.minsi": "min", "arith.maxui": "max", "arith.minui": "min",
    "arith.andi": "bitand", "arith.ori": "bitor", "arith.xori": "bitxor", "arith.shli": "shl",
    "arith.shrsi": "shr", "arith.shrui": "shr", "math.absi": "abs",
}  # fmt: skip
_COMPARES = {"slt": "lt", "sle": "le", "sgt": "gt", "sge": "ge", "eq": "eq", "ne": "ne",
             "ult": "lt", "ule": "le", "ugt": "gt", "uge": "ge"}  # fmt: skip
_ORDERED = {"oeq": "eq", "ogt": "gt", "oge": "ge", "olt": "lt", "ole": "le", "une": "ne",
            "ueq": "eq"}  # fmt: skip
_TURNED = {"ugt": "le", "uge": "lt", "ult": "ge", "ule": "gt"}
SAME = frozenset(
    "arith.extsi arith.extui arith.index_cast arith.index_castui tt.splat tt.broadcast".split()
)
"""what changes no value: integers have no width here, and an axis of one element goes on"""
_ELEMENT = re.compile(r"(?:tensor<(?:\d+x)*)?(!tt\.ptr<[^>]*(?:<[^>]*>)?[^>]*>|[\w.]+)")
_SHAPE = re.compile(r"tensor<((?:\d+x)+)")
_DTYPES: dict[str, DType] = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i1": "bool"}
_FORMS = {"f16": (2, "<e"), "f32": (4, "<f"), "f64": (8, "<d")}


def shape_of(text: str) -> tuple[int, ...]:
    """The shape of a type; () of a scalar."""
    found = _SHAPE.match(text)
    return tuple(int(n) for n in found[1].rstrip("x").split("x")) if found else ()


def element_of(text: str) -> str:
    """The element of a type: f32, i64, !tt.ptr<f16> ..."""
    found = _ELEMENT.match(text)
    if found is None:
        raise Unreadable(f"the type {text}")
    return found[1]


def dtype_of(text: str) -> DType:
    """The type of values of a type's elements."""
    element = element_of(text)
    if re.fullmatch(r"i\d+|index", element) or element.startswith("!tt.ptr"):
        return _DTYPES.get(element, "int")
    if element in _DTYPES:
        return _DTYPES[element]
    raise Unreadable(f"values of type {element}")


def constant(text: str, type_: str) -> Expr:
    """The number of `arith.constant`: `dense<5.0e-01>`, `0xFF800000`, `true`."""
    dtype = dtype_of(type_)
    found = re.search(r"arith\.constant (?:\{[^}]*\} )?(?:dense<([^>]*)>|([^\s:]+))", text)
    if found is None:
        raise Unreadable("a constant of many values")
    word = found[1] if found[1] is not None else found[2]
    if word in ("true", "false"):
        return Number(int(word == "true"), dtype)
    if dtype in ("int", "bool"):
        try:
            return Number(int(word, 0), dtype)
        except ValueError:
            raise Unreadable("a constant of many values") from None
    if word.startswith("0x"):
        return _of_bits(int(word, 16), dtype)
    return Number(float(word), dtype)


def _of_bits(bits: int, dtype: DType) -> Number:
    if dtype == "bf16":
        return Number(struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0], dtype)
    nbytes, form = _FORMS[dtype]
    return Number(float(struct.unpack(form, bits.to_bytes(nbytes, "little"))[0]), dtype)


def elementwise(name: str, text: str, args: list[Expr], type_: str) -> Expr | None:
    """What an operation on elements computes; None for one that is none."""
    if name in SAME:
        return args[0]
    if name in ("arith.cmpi", "arith.cmpf"):
        return compared(text.split()[1].rstrip(","), args)
    dtype = dtype_of(type_)
    if name == "arith.select":
        return call("select", *args, dtype=args[1].dtype)
    if name in FLOAT_OPS:
        return call(FLOAT_OPS[name], *args, dtype=dtype)
    if name in ("arith.addi", "arith.subi", "arith.muli"):
        return _integers(name, args)
    if name in INT_OPS:
        return _bits(INT_OPS[name], args, dtype)
    return _converted(name, args, dtype, type_) or _other(name, args, dtype)


def _integers(name: str, args: list[Expr]) -> Expr:
    numbers = [_counted(each) for each in args]
    if name == "arith.addi":
        return total(numbers)
    return difference(*numbers) if name == "arith.subi" else product(*numbers)


def _counted(value: Expr) -> Expr:
    if value.dtype != "bool":
        return value
    return call("select", value, Number(1), Number(0), dtype="int")


def _bits(op: str, args: list[Expr], dtype: DType) -> Expr:
    if all(each.dtype == "bool" for each in args):
        if op in ("bitand", "bitor"):
            return call(op.removeprefix("bit"), *args, dtype="bool")
        if op == "bitxor":
            return call("ne", *(_counted(each) for each in args), dtype="bool")
    numbers = [_counted(each) for each in args]
    if op == "shl" and isinstance(numbers[1], Number):
        return product(numbers[0], Number(1 << int(numbers[1].value)))
    return call(op, *numbers, dtype="int" if dtype == "bool" else dtype)


def compared(how: str, args: list[Expr]) -> Expr:
    """`arith.cmpi slt` and its like. Integers that are compared without signs count as not
    negative where nothing says otherwise."""
    left, right = args
    if left.dtype in FLOATS:
        if how in _ORDERED:
            return call(_ORDERED[how], left, right, dtype="bool")
        if how in _TURNED:
            return call("not", call(_TURNED[how], left, right, dtype="bool"), dtype="bool")
        if how in ("uno", "ord"):
            either = [call("ne", each, each, dtype="bool") for each in args]
            found = call("or", *either, dtype="bool")
            return found if how == "uno" else call("not", found, dtype="bool")
        if how == "one":
            return call("ne", left, right, dtype="bool")
        raise Unreadable(f"the comparison {how}")
    if left.dtype == right.dtype == "bool":
        left, right = _counted(left), _counted(right)
    op = _COMPARES[how]
    return call(f"{op}_u64" if how[0] == "u" else op, left, right, dtype="bool")


def _converted(name: str, args: list[Expr], dtype: DType, type_: str) -> Expr | None:
    if name in ("arith.extf", "arith.truncf", "tt.fp_to_fp"):
        return call("cast", args[0], dtype=dtype)
    if name in ("arith.sitofp", "arith.uitofp"):
        return call("cast", _counted(args[0]), dtype=dtype)
    if name in ("arith.fptosi", "arith.fptoui"):
        return call("cast", call("trunc", args[0], dtype=args[0].dtype), dtype="int")
    if name == "arith.trunci":
        if dtype == "bool":
            odd = call("bitand", args[0], Number(1), dtype="int")
            return call("ne", odd, Number(0), dtype="bool")
        bits = int(element_of(type_)[1:])
        return args[0] if bits >= 32 else call(f"wrap_s{bits}", args[0], dtype="int")
    if name in ("arith.bitcast", "tt.bitcast"):
        return as_type(args[0], dtype)
    return None


def _other(name: str, args: list[Expr], dtype: DType) -> Expr | None:
    if name == "tt.clampf":
        low = call("max", args[0], args[1], dtype=dtype)
        return call("min", low, args[2], dtype=dtype)
    if name == "arith.ceildivsi":
        up = total((args[0], args[1], Number(-1)))
        return call("div", up, args[1], dtype="int")
    return None
