"""Entry functions of C++ and CUDA sources: which there are, and the types of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dtypes import DTYPES, DtypeName
from ..specs.normalise import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIERS = frozenset(
    "const volatile restrict __restrict __restrict__ struct constexpr __grid_constant__".split()
)
_INTEGER_WORDS = frozenset("unsigned signed long short int char".split())
_TYPES: dict[str, DtypeName] = {
    "float": "float32", "double": "float64",
    "__half": "float16", "half": "float16", "_Float16": "float16", "__fp16": "float16",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16", "__bf16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2",
    "bool": "bool", "size_t": "uint64", "ptrdiff_t": "int64", "ssize_t": "int64",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
    "uint": "uint32", "uchar": "uint8",
}  # fmt: skip
_VECTORS: dict[str, DtypeName] = {
    "float": "float32", "double": "float64", "char": "int8", "uchar": "uint8", "short": "int16",
    "ushort": "uint16", "int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64",
    "longlong": "int64", "ulonglong": "uint64", "half": "float16", "__half": "float16",
    "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16",
}  # fmt: skip
_VECTOR = re.compile(r"(\w+?)([1-4])")


@dataclass(frozen=True, slots=True)
class Element:
    """A C type as elements of a contract: float4 is four float32."""

    dtype: DtypeName
    lanes: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of one value of the C type."""
        return DTYPES[self.dtype].itemsize * self.lanes


@dataclass(frozen=True, slots=True)
class CppParameter:
    """One parameter as it is declared."""

    name: str
    type: str
    """without qualifiers, pointers and references"""
    element: Element | None
    """None: no type that a contract knows"""
    pointers: int
    """levels of `*` and `[]`"""
    const: bool
    """what it points to is const"""
    reference: bool = False
    extent: str | None = None
    """the text between the brackets of `float x[1024]`"""


@dataclass(frozen=True)
class CppFunction:
    """A function that could be an entry."""

    name: str
    parameters: tuple[CppParameter, ...]
    body: Node
    template: bool


def element_type(text: str) -> Element | None:
    """The elements of a C type, qualifiers and `std::` aside; None: not a type of numbers."""
    words = [w for w in text.replace("::", " ").split() if w not in _QUALIFIERS and w != "std"]
    if words and set(words) <= _INTEGER_WORDS:
        return Element(_integer(words))
    name = " ".join(words)
    if name in _TYPES:
        return Element(_TYPES[name])
    vector = _VECTOR.fullmatch(name)
    if vector is not None and vector[1] in _VECTORS:
        return Element(_VECTORS[vector[1]], int(vector[2]))
    return None


def _integer(words: list[str]) -> DtypeName:
    """char is signed and long has 64 bits, as on Linux."""
    unsigned = "unsigned" in words
    if "char" in words:
        return "uint8" if unsigned else "int8"
    if "short" in words:
        return "uint16" if unsigned else "int16"
    if "long" in words:
        return "uint64" if unsigned else "int64"
    return "uint32" if unsigned else "int32"


def cpp_functions(source: str, *, cuda: bool) -> tuple[CppFunction, ...]:
    """The functions that could be the entry, in the order of the source.

    CUDA: every `__global__` function. C++: functions with external linkage that take a
    pointer, without those that another of them calls.
    """
    root = parse_cpp(source.encode()).root_node
    nodes = [n for n in walk(root) if n.type == "function_definition"]
    if cuda:
        nodes = [n for n in nodes if any(c.type == "__global__" for c in n.children)]
        return tuple(f for n in nodes if (f := _function(n)) is not None)
    outer = [f for n in nodes if not _internal(n) and (f := _function(n)) is not None]
    wanted = [f for f in outer if f.name != "main" and any(p.pointers for p in f.parameters)]
    called = {name for f in wanted for name in _called(f.body) if name != f.name}
    return tuple(f for f in wanted if f.name not in called)


def walk(node: Node) -> Iterator[Node]:
    """Every node beneath, parents first, in the order of the source; no recursion."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(reversed(found.children))


def text_of(node: Node | None) -> str:
    """The source of a node; empty for none."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _called(body: Node) -> set[str]:
    calls = (n for n in walk(body) if n.type == "call_expression")
    return {text_of(n.child_by_field_name("function")) for n in calls}


def _internal(node: Node) -> bool:
    """Static, in a namespace or class, or a template: nothing that the shim could call by name."""
    if any(c.type == "storage_class_specifier" and text_of(c) == "static" for c in node.children):
        return True
    above = node.parent
    while above is not None:
        if above.type in ("namespace_definition", "class_specifier", "struct_specifier"):
            return True
        above = above.parent
    return False


def _function(node: Node) -> CppFunction | None:
    body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if declarator is None or body is None:
        return None
    name, listed = (declarator.child_by_field_name(f) for f in ("declarator", "parameters"))
    if name is None or name.type != "identifier" or listed is None:
        return None
    kinds = ("parameter_declaration", "optional_parameter_declaration")
    declared = [c for c in listed.children if c.type in kinds and text_of(c) != "void"]
    parent = node.parent
    return CppFunction(
        name=text_of(name),
        parameters=tuple(_parameter(c, at) for at, c in enumerate(declared)),
        body=body,
        template=parent is not None and parent.type == "template_declaration",
    )


def _parameter(node: Node, at: int) -> CppParameter:
    plain = [w for w in text_of(node.child_by_field_name("type")).split() if w not in _QUALIFIERS]
    kind = " ".join(plain)
    inner, pointers, reference, extent = node.child_by_field_name("declarator"), 0, False, None
    while inner is not None and inner.type != "identifier":
        pointers += inner.type in _POINTERS
        reference = reference or "reference_declarator" in inner.type
        if inner.type == "array_declarator":
            extent = text_of(inner.child_by_field_name("size")) or None
        named = [c for c in inner.named_children if c.type not in ("type_qualifier",)]
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in named if c.type.endswith(("declarator", "identifier"))), None
        )
    qualifiers = [text_of(c) for c in node.children if c.type == "type_qualifier"]
    return CppParameter(
        name=text_of(inner) or f"argument{at}",
        type=kind,
        element=element_type(kind),
        pointers=pointers,
        const="const" in qualifiers,
        reference=reference,
        extent=extent,
    )


_POINTERS = (
    "pointer_declarator",
    "abstract_pointer_declarator",
    "array_declarator",
    "abstract_array_declarator",
)
