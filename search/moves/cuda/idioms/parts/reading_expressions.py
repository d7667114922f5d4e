"""From tree-sitter's tree of an expression to `syntax`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ......runners.c_source.nodes import text_of
from .syntax import Binary, Call, Choice, Converted, Expr, Item, Name, Number, Opaque, Span, Unary

if TYPE_CHECKING:
    from tree_sitter import Node


BUILT_IN = frozenset("threadIdx blockIdx blockDim gridDim".split())
NUMBERS = frozenset("INFINITY FLT_MAX FLT_MIN DBL_MAX INT_MAX INT_MIN NAN true false".split())
NUMBER_TYPES = re.compile(
    r"(const )?(float|double|int|unsigned( int)?|long( long)?|size_t|half|__half|u?int(32|64)_t"
    r"|__nv_bfloat16|nv_bfloat16|unsigned long long|unsigned char|char|short)"
)
CONVERSIONS = {
    "__half2float": "float", "__bfloat162float": "float", "__float2half": "__half",
    "__float2half_rn": "__half", "__float2bfloat16": "__nv_bfloat16",
    "__float2bfloat16_rn": "__nv_bfloat16", "__int2float_rn": "float",
}  # fmt: skip


def span_of(node: Node) -> Span:
    return node.start_byte, node.end_byte


def read_expression(node: Node) -> Expr:
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return read_expression(node.named_children[0])
    read = _READERS.get(node.type)
    return _opaque(node) if read is None else read(node)


def _opaque(node: Node) -> Expr:
    return Opaque(span_of(node), text_of(node))


def _number(node: Node) -> Expr:
    return Number(span_of(node), text_of(node))


def _name(node: Node) -> Expr:
    name = text_of(node)
    return Number(span_of(node), name) if name in NUMBERS else Name(span_of(node), name)


def _field(node: Node) -> Expr:
    if text_of(node.child_by_field_name("argument")) in BUILT_IN:
        return Name(span_of(node), "".join(text_of(node).split()))
    return _opaque(node)


def _binary(node: Node) -> Expr:
    left, right = (node.child_by_field_name(f) for f in ("left", "right"))
    assert left is not None and right is not None
    operator = text_of(node.child_by_field_name("operator"))
    return Binary(span_of(node), operator, read_expression(left), read_expression(right))


def _choice(node: Node) -> Expr:
    pieces = [node.child_by_field_name(f) for f in ("condition", "consequence", "alternative")]
    if any(p is None for p in pieces):
        return _opaque(node)
    test, yes, no = (read_expression(p) for p in pieces if p is not None)
    return Choice(span_of(node), test, yes, no)


def _cast(node: Node) -> Expr:
    kind, value = (node.child_by_field_name(f) for f in ("type", "value"))
    if value is not None and NUMBER_TYPES.fullmatch(" ".join(text_of(kind).split())):
        return Converted(span_of(node), text_of(kind), read_expression(value))
    return _opaque(node)


def _unary(node: Node) -> Expr:
    operand = node.child_by_field_name("argument")
    assert operand is not None
    operator = text_of(node.child_by_field_name("operator"))
    inner = read_expression(operand)
    if operator == "-" and isinstance(inner, Number):
        return Number(span_of(node), "-" + inner.text)
    return inner if operator == "+" else Unary(span_of(node), operator, inner)


def _pointer(node: Node) -> Expr:
    operand = node.child_by_field_name("argument")
    assert operand is not None
    inner = read_expression(operand)
    if text_of(node.child_by_field_name("operator")) == "&":
        return Unary(span_of(node), "&", inner)
    if isinstance(inner, Name):
        return Item(span_of(node), inner.name, (Number(span_of(node), "0"),))
    match inner:
        case Binary(operator="+", left=Name(name=array), right=index):
            return Item(span_of(node), array, (index,))
        case _:
            return Opaque(span_of(node), text_of(node))


def _call(node: Node) -> Expr:
    callee, listed = (node.child_by_field_name(f) for f in ("function", "arguments"))
    given = () if listed is None else tuple(read_expression(c) for c in listed.named_children)
    name = "".join(text_of(callee).split())
    cast = re.fullmatch(r"(?:static_cast|reinterpret_cast)<(.*)>", text_of(callee))
    kind = cast[1].strip() if cast else " ".join(text_of(callee).split())
    if len(given) == 1:
        if NUMBER_TYPES.fullmatch(kind):
            return Converted(span_of(node), kind, given[0])
        if name in CONVERSIONS:
            return Converted(span_of(node), CONVERSIONS[name], given[0])
        if name == "__ldg" and isinstance(given[0], Unary) and given[0].operator == "&":
            return given[0].operand
    return Call(span_of(node), name, given)


def _item(node: Node) -> Expr:
    indices, inner = list[Expr](), node
    while inner.type == "subscript_expression":
        listed = inner.child_by_field_name("indices")
        owner = inner.child_by_field_name("argument")
        if listed is None or owner is None or listed.named_child_count != 1:
            return Opaque(span_of(node), text_of(node))
        indices.insert(0, read_expression(listed.named_children[0]))
        inner = owner
    if inner.type != "identifier":
        return Opaque(span_of(node), text_of(node))
    return Item(span_of(node), text_of(inner), tuple(indices))


_READERS: Mapping[str, Callable[[Node], Expr]] = {
    "number_literal": _number,
    "true": _number,
    "false": _number,
    "identifier": _name,
    "field_expression": _field,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "conditional_expression": _choice,
    "cast_expression": _cast,
    "call_expression": _call,
    "subscript_expression": _item,
}
