"""What a C++ or CUDA function does with the memory behind its pointer parameters.

Read from the syntax tree without regard to control flow: what a pointer may be anywhere in
the function, it is everywhere. What is not understood is said (`escapes`), never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from .cpp_indices import Indices
from .cpp_signature import CppFunction, element_type, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Mode = Literal["read", "write", "update", "atomic"]
START = ""
"""The place of a pointer that still points to the first element."""


class Address(NamedTuple):
    """Where a pointer may point to."""

    array: str
    place: str | None
    """`START`, else the extent that its index runs through; None: not understood"""
    nbytes: int | None
    """of one element as the pointer sees it; None: of a type that is not known"""


class Access(NamedTuple):
    """One load or store."""

    mode: Mode
    place: str | None
    nbytes: int | None


@dataclass(slots=True)
class Usage:
    """All that is done with one array."""

    accesses: list[Access] = field(default_factory=list[Access])
    escapes: list[str] = field(default_factory=list[str])
    """where the pointer goes that could not be followed"""


_CASTS = frozenset("reinterpret_cast static_cast const_cast".split())
_SAME = frozenset("__builtin_assume_aligned std::assume_aligned assume_aligned".split())
_HARMLESS = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "!"})
_ATOMIC = re.compile(r"atomic[A-Z]\w*|__atomic_(fetch_\w+|\w+_fetch|exchange\w*|compare_\w+)")
_MEMORY: tuple[tuple[re.Pattern[str], tuple[Mode | None, ...]], ...] = (
    (_ATOMIC, ("atomic",)),
    (re.compile(r"__ld(g|cg|cs|ca|lu|cv)|__builtin_prefetch|_mm_prefetch"), ("read",)),
    (re.compile(r"__st(cg|cs|wb|wt)|(std::)?memset"), ("write",)),
    (re.compile(r"(std::)?mem(cpy|move)"), ("write", "read")),
    (re.compile(r"__pipeline_memcpy_async"), (None, "read")),
    (re.compile(r"_mm\d*_\w*(load|gather)\w*"), ("read",)),
    (re.compile(r"_mm\d*_\w*(store|stream)\w*"), ("write",)),
)
"""Functions that are known by name, and what they do with each pointer."""
_WHOLE = re.compile(r"(std::)?mem\w+|__pipeline\w+|_mm\w*")
"""Of these the ones that reach beyond the element that they are pointed to."""


def usages(function: CppFunction, indices: Indices) -> dict[str, Usage]:
    """What the function does with each of its pointer parameters, by name."""
    reader = _Reader(function, indices)
    reader.follow()
    return reader.read()


class _Reader:
    """Follows pointers through one function."""

    def __init__(self, function: CppFunction, indices: Indices) -> None:
        self.body, self.indices = function.body, indices
        self.pointers: dict[str, frozenset[Address]] = {
            p.name: frozenset({Address(p.name, START, p.element.nbytes if p.element else None)})
            for p in function.parameters
            if p.pointers
        }
        self.elements: dict[str, frozenset[Address]] = {}
        """references to elements, by name"""
        self.found = {name: Usage() for name in self.pointers}
        self.references = _reference_parameters(function.body)

    def follow(self) -> None:
        """Find every alias; an alias of an alias needs another round."""
        before = -1
        while before != (
            before := sum(map(len, (*self.pointers.values(), *self.elements.values())))
        ):
            for node in walk(self.body):
                self._alias(node)

    def _alias(self, node: Node) -> None:
        if node.type == "init_declarator":
            declarator = node.child_by_field_name("declarator")
            value = node.child_by_field_name("value")
            name = _declared(declarator)
            if declarator is None or value is None or name is None:
                return
            if declarator.type == "reference_declarator" and (made := self.element(value)):
                self.elements[name] = self.elements.get(name, frozenset()) | made
            elif _holds_pointer(node):
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
            self.pointers[name] = self.pointers.get(name, frozenset()) | addresses

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
                return self._moved(left, right) | self._moved(right, left)
            case "pointer_expression" if _operator(node) == "&":
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
        function, passed = node.child_by_field_name("function"), _arguments(node)
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
            case "pointer_expression" if _operator(node) == "*":
                return self.address(node.child_by_field_name("argument"))
            case "field_expression":
                inner = node.child_by_field_name("argument")
                through = text_of(node.child_by_field_name("operator")) == "->"
                return self.address(inner) if through else self.element(inner)
            case _:
                return frozenset()

    def _moved(self, pointer: Node | None, index: Node | None) -> frozenset[Address]:
        """Pointer + index. Twice the same way is not followed: the second move is unknown."""
        found = self.address(pointer)
        if not found or index is None or text_of(index) == "0":
            return found
        extent = self.indices.extent(index)
        return frozenset(a._replace(place=extent if a.place == START else None) for a in found)

    def read(self) -> dict[str, Usage]:
        """Every access and escape in the function."""
        for node in walk(self.body):
            if node.type == "call_expression":
                self._call(node)
            if (made := self.element(node)) and not self._inner(node):
                self._access(node, made)
            elif (made := self.address(node)) and (where := self._escape(node)) is not None:
                for address in made:
                    self.found[address.array].escapes.append(where)
            if node.type in ("ERROR", "gnu_asm_expression") or node.is_missing:
                self._not_understood(node)
        return self.found

    def _inner(self, node: Node) -> bool:
        """Whether the node is a part of a larger access: `p[i]` in `p[i].x` or `(p[i])`."""
        parent = node.parent
        return parent is not None and bool(self.element(parent)) and parent.type in _WRAPPERS

    def _access(self, node: Node, made: frozenset[Address]) -> None:
        mode = _mode(node)
        if mode is None:
            return
        for a in made:
            self._note(a, mode)
            if (name := self._by_reference(node)) is not None:
                self.found[a.array].escapes.append(f"the function `{name}`")

    def _by_reference(self, node: Node) -> str | None:
        """The function that is handed the element itself and could store into it."""
        call = node.parent.parent if node.parent is not None else None
        if call is None or call.type != "call_expression" or node not in _arguments(call):
            return None
        name = text_of(call.child_by_field_name("function"))
        return name if name in self.references else None

    def _note(self, a: Address, mode: Mode, *, whole: bool = False) -> None:
        place = None if whole or a.place == START else a.place
        self.found[a.array].accesses.append(Access(mode, place, a.nbytes))

    def _call(self, node: Node) -> None:
        name = text_of(node.child_by_field_name("function"))
        modes = _known(name)
        for argument, mode in zip(_arguments(node), modes, strict=False):
            if mode is not None:
                for address in self.address(argument):
                    self._note(address, mode, whole=_WHOLE.fullmatch(name) is not None)

    def _escape(self, node: Node) -> str | None:
        """Where a pointer goes that nobody follows; None: it stays in sight."""
        parent = node.parent
        if parent is None or parent.type in _NO_USE:
            return None
        if parent.type == "argument_list":
            return self._passed(node, parent)
        if self.address(parent) or self.element(parent):
            return None
        if parent.type == "init_declarator":
            return None if _holds_pointer(parent) else "a variable that is no pointer"
        if parent.type == "assignment_expression":
            left = parent.child_by_field_name("left")
            kept = left == node or (left is not None and left.type == "identifier")
            return None if kept else f"`{text_of(left)}`"
        if parent.type in _TESTS or _operator(parent) in _HARMLESS:
            return None
        if parent.type.startswith("gnu_asm"):
            return None  # told once for the whole statement
        return f"`{text_of(parent).strip()[:40]}`"

    def _passed(self, node: Node, listed: Node) -> str | None:
        call = listed.parent
        if call is None or self.address(call):
            return None
        name = text_of(call.child_by_field_name("function")) or text_of(call)[:40]
        known = node in _arguments(call)[: len(_known(name))]
        return None if known else f"the function `{name}`"

    def _not_understood(self, node: Node) -> None:
        """Assembly touches what it names; text that does not parse may touch all."""
        assembly = node.type == "gnu_asm_expression"
        names = {text_of(n) for n in walk(node) if n.type == "identifier"}
        touched = {a.array for n in names for a in self.pointers.get(n, ())}
        where = "inline assembly" if assembly else f"line {node.start_point.row + 1}, unreadable"
        for array in touched if assembly else self.found:
            self.found[array].escapes.append(where)


_NO_USE = frozenset(
    "expression_statement comma_expression lambda_capture_specifier pointer_declarator".split()
)
_WRAPPERS = ("field_expression", "parenthesized_expression")
_TESTS = frozenset(
    "if_statement while_statement condition_clause sizeof_expression conditional_expression "
    "parenthesized_expression".split()
)


def _mode(node: Node) -> Mode | None:
    """What happens to the memory; None: only its address is taken."""
    parent = node.parent
    if parent is None:
        return "read"
    if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
        plain = text_of(parent.child_by_field_name("operator")) == "="
        return "write" if plain else "update"
    if parent.type == "update_expression":
        return "update"
    if parent.type == "pointer_expression" and _operator(parent) == "&":
        return None
    if parent.type == "init_declarator":
        declarator = parent.child_by_field_name("declarator")
        bound = declarator is not None and declarator.type == "reference_declarator"
        return None if bound or declarator == node else "read"
    return None if parent.type in ("sizeof_expression", "reference_declarator") else "read"


def _reference_parameters(body: Node) -> frozenset[str]:
    """Functions that may store through a parameter: swap, and the source's own with a `T&`."""
    root = body
    while root.parent is not None:
        root = root.parent
    found = {"swap", "std::swap", "std::exchange"}
    for node in walk(root):
        if node.type == "function_declarator" and "&" in text_of(
            node.child_by_field_name("parameters")
        ):
            found.add(text_of(node.child_by_field_name("declarator")))
    return frozenset(found)


def _known(name: str) -> Sequence[Mode | None]:
    return next((modes for pattern, modes in _MEMORY if pattern.fullmatch(name)), ())


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [c for c in listed.named_children if c.type != "comment"] if listed is not None else []


def _operator(node: Node) -> str:
    return text_of(node.child_by_field_name("operator"))


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


def _declared(declarator: Node | None) -> str | None:
    names: Iterator[Node] = walk(declarator) if declarator is not None else iter(())
    return next((text_of(n) for n in names if n.type == "identifier"), None)


def _holds_pointer(node: Node) -> bool:
    """Whether an init_declarator declares a pointer: by a `*`, or by `auto`."""
    declarator, parent = node.child_by_field_name("declarator"), node.parent
    if declarator is not None and declarator.type == "pointer_declarator":
        return True
    kind = text_of(parent.child_by_field_name("type")) if parent is not None else ""
    return kind == "auto"
