"""Single copies from an array of the contract into a tile of shared memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import declared
from .....runners.c_source.expressions import arguments, called, cast_of, operator_of
from .....runners.c_source.nodes import field, inside, text_of, walk
from .....runners.c_source.types import element_type
from .dependence import Flow
from .reading import CudaKernel

if TYPE_CHECKING:
    from tree_sitter import Node

SIZES = (4, 8, 16)
"""bytes that a thread can copy without waiting"""
PURE = re.compile(
    r"f?(min|max)f?|__ld(g|cg|cs|ca|lu|cv)|__\w+2\w+|make_\w+|fabsf?|abs|(std::)?(min|max)"
)
"""functions that read their arguments and do nothing else"""
_CASTS = ("reinterpret_cast", "static_cast", "const_cast")
_LOADS = re.compile(r"__ld(g|cg|cs|ca)")


@dataclass(frozen=True)
class Copy:
    """`tile[i] = x[j];`, or with a condition and what else is stored."""

    statement: Node
    target: Node
    source: str
    """the address in C"""
    nbytes: int
    type: str
    test: Node | None = None
    other: Node | None = None
    swapped: bool = False
    """the other value belongs to a test that holds"""
    wide: bool = False
    """several elements of the tile at once"""

    @property
    def text(self) -> str:
        """The same without waiting."""
        to = _address(self.target)
        copy = f"__pipeline_memcpy_async({to}, {self.source}, sizeof({self.type}));"
        if self.test is None or self.other is None:
            return copy
        plain = f"{text_of(self.target)} = {text_of(self.other)};"
        yes, no = (plain, copy) if self.swapped else (copy, plain)
        return f"if ({_bare(text_of(self.test))}) {{ {yes} }} else {{ {no} }}"


def copies_in(kernel: CudaKernel, statements: tuple[Node, ...], tiles: set[str]) -> list[Copy]:
    """Every such copy, in order."""
    flow, types = Flow(kernel), _types(kernel)
    found = list[Copy]()
    for statement in (n for s in statements for n in walk(s)):
        inner = statement.named_children[0] if statement.named_child_count == 1 else None
        if statement.type != "expression_statement" or inner is None:
            continue
        if inner.type != "assignment_expression" or operator_of(inner) != "=":
            continue
        target, value = field(inner, "left"), _unwrapped(field(inner, "right"))
        kind = _type_of(target, types)
        if base_name(target) not in tiles or kind is None:
            continue
        test = other = None
        swapped = False
        if value.type == "conditional_expression":
            test = field(value, "condition")
            yes, no = (_unwrapped(field(value, f)) for f in ("consequence", "alternative"))
            swapped = _loaded(yes, kernel, flow, types) is None
            value, other = (no, yes) if swapped else (yes, no)
        made = _loaded(value, kernel, flow, types)
        if made is None or _plain(made[1]) != _plain(kind):
            continue
        element = element_type(kind)
        if element is not None and element.nbytes in SIZES:
            found.append(
                Copy(
                    statement,
                    target,
                    made[0],
                    element.nbytes,
                    kind,
                    test,
                    other,
                    swapped,
                    wide=_plain(types.get(base_name(target), "")) != _plain(kind),
                )
            )
    return found


def base_name(node: Node) -> str:
    """The variable that a place in memory begins with: `As` of `As[i][j]`, and through casts."""
    while True:
        match node.type:
            case "identifier":
                return text_of(node)
            case "subscript_expression" | "pointer_expression" | "field_expression":
                inner = node.child_by_field_name("argument")
            case "parenthesized_expression":
                inner = node.named_child(0)
            case "binary_expression":
                inner = node.child_by_field_name("left")
            case "cast_expression":
                inner = node.child_by_field_name("value")
            case "call_expression" if is_cast_call(node):
                inner = arguments(node)[0]
            case _:
                return ""
        if inner is None:
            return ""
        node = inner


def is_cast_call(node: Node) -> bool:
    """Whether a node is `reinterpret_cast<float4*>(x)` or `int(x)`."""
    return called(node).partition("<")[0].strip() in _CASTS or cast_of(node) is not None


def calls_something(node: Node) -> bool:
    """Whether a node calls what may do anything."""
    if node.type != "call_expression" or is_cast_call(node):
        return False
    return PURE.fullmatch(called(node)) is None


def _types(kernel: CudaKernel) -> dict[str, str]:
    """Element types of arrays and pointers by name; empty where a name has several."""
    found = {p.name: p.type for p in kernel.pointers.values()}
    for node in walk(kernel.body):
        if node.type == "declaration":
            kind = text_of(node.child_by_field_name("type"))
            for each in node.children_by_field_name("declarator"):
                made = declared(each)
                if made.pointers or made.sizes:
                    found[made.name] = "" if made.name in found else kind
    return found


def _type_of(node: Node, types: dict[str, str]) -> str | None:
    """The type of an element; None: not plain to see."""
    casts = [n for n in inside(node) if n.type in ("cast_expression", "call_expression")]
    pointed = [t for n in casts if (t := _cast_type(n)) is not None]
    if pointed:
        return pointed[0]
    return types.get(base_name(node)) or None


def _cast_type(node: Node) -> str | None:
    """What a cast to a pointer points to."""
    if node.type == "cast_expression":
        kind = text_of(node.child_by_field_name("type"))
    else:
        match = re.fullmatch(r"reinterpret_cast\s*<(.*)>", called(node), re.DOTALL)
        kind = match[1] if match else ""
    return _plain(kind.replace("*", "")) if kind.count("*") == 1 else None


def _plain(kind: str) -> str:
    return " ".join(w for w in kind.split() if w not in ("const", "__restrict__", "volatile"))


def _loaded(
    node: Node, kernel: CudaKernel, flow: Flow, types: dict[str, str]
) -> tuple[str, str] | None:
    """Address and type of an element of the contract's arrays; None: another value."""
    if node.type == "call_expression" and _LOADS.fullmatch(called(node)):
        (given,) = arguments(node) if len(arguments(node)) == 1 else (None,)
        if given is None:
            return None
        place, address = given, text_of(given)
    elif node.type == "subscript_expression" or (
        node.type == "pointer_expression" and operator_of(node) == "*"
    ):
        place, address = node, _address(node)
    else:
        return None
    name = base_name(place)
    if not flow.leads_to_array(name):
        return None
    kind = _type_of(place, types)
    return None if kind is None else (address, kind)


def _address(node: Node) -> str:
    if node.type == "pointer_expression" and operator_of(node) == "*":
        return text_of(field(node, "argument"))
    return f"&{text_of(node)}"


def _unwrapped(node: Node) -> Node:
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text
