"""Where the pointers of a C++ or CUDA function may point to: parameters, aliases, elements.

Read from the syntax tree without regard to control flow: what a pointer may be anywhere in
the function, it is everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..c_source.declarators import declared_name
from ..c_source.expressions import arguments, operator_of
from ..c_source.functions import CppFunction
from ..c_source.nodes import text_of, walk
from ..c_source.types import element_type
from .cpp_indices import Indices
from .polynomials import Polynomial

if TYPE_CHECKING:
    from tree_sitter import Node

START = Polynomial()
"""The place of a pointer that points to the first element."""
_MOST = 8
"""Places of one name that are told apart; a pointer that goes on and on is anywhere."""
_CASTS = frozenset("reinterpret_cast static_cast const_cast".split())
_SAME = frozenset("__builtin_assume_aligned std::assume_aligned assume_aligned".split())


class Address(NamedTuple):
    """Where a pointer may point to."""

    array: str
    place: Polynomial | None
    """elements from the start: the number of the thread, or sizes and variables of loops; None:
    not understood"""
    nbytes: int | None
    """of one element as the pointer sees it; None: of a type that is not known"""


class Pointers:
    """The pointers and references of one function, by name, followed to its parameters."""

    def __init__(self, function: CppFunction, indices: Indices) -> None:
        self.body, self.indices = function.body, indices
        self.pointers: dict[str, frozenset[Address]] = {
            p.name: frozenset({Address(p.name, START, p.element.nbytes if p.element else None)})
            for p in function.parameters
            if p.pointers
        }
        self.elements: dict[str, frozenset[Address]] = {}
        """references to elements, by name"""
        self._follow()

    def _follow(self) -> None:
        """Find every alias; an alias of an alias needs another round."""
        known = None
        while known != (found := (dict(self.pointers), dict(self.elements))):
            known = found
            for node in walk(self.body):
                self._alias(node)

    def _alias(self, node: Node) -> None:
        if node.type == "init_declarator":
            declarator = node.child_by_field_name("declarator")
            value = node.child_by_field_name("value")
            name = declared_name(declarator)
            if declarator is None or value is None or not name:
                return
            if declarator.type == "reference_declarator" and (made := self.element(value)):
                self.elements[name] = _joined(self.elements.get(name, frozenset()) | made)
            elif holds_pointer(node):
                self._add(name, self.address(value))
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            name = text_of(left)
            if left is None or right is None or left.type != "identifier":
                return
            if text_of(node.child_by_field_name("operator")) == "=":
                self._add(name, self.address(right))
            else:
                self._add(name, _anywhere(self.pointers.get(name, frozenset())))
        elif node.type == "update_expression":
            name = text_of(node.child_by_field_name("argument"))
            self._add(name, _anywhere(self.pointers.get(name, frozenset())))

    def _add(self, name: str, addresses: frozenset[Address]) -> None:
        if addresses:
            self.pointers[name] = _joined(self.pointers.get(name, frozenset()) | addresses)

    def address(self, node: Node | None) -> frozenset[Address]:
        """What a pointer expression may point to; empty: no pointer to a parameter's memory."""
        if node is None:
            return frozenset()
        match node.type:
            case "identifier":
                return self.pointers.get(text_of(node), frozenset())
            case "parenthesized_expression":
                return self.address(node.named_child(0))
            case "cast_expression":
                kind = text_of(node.child_by_field_name("type"))
                return _retyped(self.address(node.child_by_field_name("value")), kind)
            case "call_expression":
                return self._of_call(node)
            case "binary_expression" if text_of(node.child_by_field_name("operator")) in "+-":
                left, right = (node.child_by_field_name(f) for f in ("left", "right"))
                back = operator_of(node) == "-"
                return self._moved(left, right, back=back) | self._moved(right, left, back=back)
            case "pointer_expression" if operator_of(node) == "&":
                return self.element(node.child_by_field_name("argument"))
            case "conditional_expression":
                parts = (node.child_by_field_name(f) for f in ("consequence", "alternative"))
                return frozenset[Address]().union(*map(self.address, parts))
            case "update_expression":
                return _anywhere(self.address(node.child_by_field_name("argument")))
            case "assignment_expression":
                return _anywhere(self.address(node.child_by_field_name("left")))
            case _:
                return frozenset()

    def _of_call(self, node: Node) -> frozenset[Address]:
        function, passed = node.child_by_field_name("function"), arguments(node)
        if function is None or not passed:
            return frozenset()
        if function.type == "template_function":
            name = text_of(function.child_by_field_name("name"))
            kind = text_of(function.child_by_field_name("arguments"))[1:-1]
            return _retyped(self.address(passed[0]), kind) if name in _CASTS else frozenset()
        return self.address(passed[0]) if text_of(function) in _SAME else frozenset()

    def element(self, node: Node | None) -> frozenset[Address]:
        """The memory that an expression itself is, such as `p[i]`, `*p` or `p->x`."""
        if node is None:
            return frozenset()
        match node.type:
            case "identifier":
                return self.elements.get(text_of(node), frozenset())
            case "parenthesized_expression":
                return self.element(node.named_child(0))
            case "subscript_expression":
                listed = node.child_by_field_name("indices")
                index = listed.named_child(0) if listed is not None else None
                return self._moved(node.child_by_field_name("argument"), index)
            case "pointer_expression" if operator_of(node) == "*":
                return self.address(node.child_by_field_name("argument"))
            case "field_expression":
                inner = node.child_by_field_name("argument")
                through = text_of(node.child_by_field_name("operator")) == "->"
                return self.address(inner) if through else self.element(inner)
            case _:
                return frozenset()

    def _moved(
        self, pointer: Node | None, index: Node | None, *, back: bool = False
    ) -> frozenset[Address]:
        """Pointer + index; `back` takes it away. In CUDA the second move is not followed."""
        found = self.address(pointer)
        if not found or index is None or text_of(index) == "0":
            return found
        by = self.indices.place(index)
        if by is None or (back and self.indices.cuda):
            return _anywhere(found)
        way = START - by if back else by
        once = self.indices.cuda
        return frozenset(
            a._replace(
                place=None if a.place is None or (once and a.place != START) else a.place + way
            )
            for a in found
        )


def holds_pointer(node: Node) -> bool:
    """Whether an init_declarator declares a pointer: by a `*`, or by `auto`."""
    declarator, parent = node.child_by_field_name("declarator"), node.parent
    if declarator is not None and declarator.type == "pointer_declarator":
        return True
    kind = text_of(parent.child_by_field_name("type")) if parent is not None else ""
    return kind == "auto"


def _joined(addresses: frozenset[Address]) -> frozenset[Address]:
    """Without those that one of an unknown place in the same array stands for."""
    lost = {(a.array, a.nbytes) for a in addresses if a.place is None}
    if len(addresses) > _MOST:
        lost = {(a.array, a.nbytes) for a in addresses}
    kept = frozenset(a for a in addresses if (a.array, a.nbytes) not in lost)
    return kept | {Address(array, None, nbytes) for array, nbytes in lost}


def _anywhere(addresses: frozenset[Address]) -> frozenset[Address]:
    return frozenset(a._replace(place=None) for a in addresses)


def _retyped(addresses: frozenset[Address], kind: str) -> frozenset[Address]:
    """A cast; beyond the first element, another width makes another index."""
    if "*" not in kind:
        return frozenset()
    element = element_type(kind.replace("*", " "))
    nbytes = element.nbytes if element else None
    return frozenset(
        a._replace(nbytes=nbytes, place=a.place if START == a.place or nbytes == a.nbytes else None)
        for a in addresses
    )
