"""What a C++ or CUDA function does with the memory behind its pointer parameters.

What is not understood is said (`escapes`), never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..c_source.expressions import arguments, operator_of
from ..c_source.functions import CppFunction
from ..c_source.nodes import text_of, walk
from .cpp_indices import Indices
from .cpp_pointers import START, Address, Pointers, holds_pointer
from .polynomials import Polynomial

if TYPE_CHECKING:
    from tree_sitter import Node

Mode = Literal["read", "write", "update", "atomic"]


class Access(NamedTuple):
    """One load or store."""

    mode: Mode
    place: Polynomial | None
    """as `Address.place`, the first element of a CUDA kernel's array aside: None"""
    nbytes: int | None
    guarded: bool = False
    """a condition or a jump may keep it from some values of the loops around"""


@dataclass(slots=True)
class Usage:
    """All that is done with one array."""

    accesses: list[Access] = field(default_factory=list[Access])
    escapes: list[str] = field(default_factory=list[str])
    """where the pointer goes that could not be followed"""


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
_NO_USE = frozenset(
    "expression_statement for_statement comma_expression pointer_declarator "
    "lambda_capture_specifier".split()
)
_WRAPPERS = ("field_expression", "parenthesized_expression")
_TESTS = frozenset(
    "if_statement while_statement condition_clause sizeof_expression conditional_expression "
    "parenthesized_expression".split()
)


def usages(function: CppFunction, indices: Indices) -> dict[str, Usage]:
    """What the function does with each of its pointer parameters, by name."""
    return _Reader(function, indices).read()


class _Reader:
    """Every use of the pointers of one function."""

    def __init__(self, function: CppFunction, indices: Indices) -> None:
        self.body, self.pointers = function.body, Pointers(function, indices)
        self.indices = indices
        self.address, self.element = self.pointers.address, self.pointers.element
        self.found = {p.name: Usage() for p in function.parameters if p.pointers}
        self.references = _reference_parameters(function.body)

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
        guarded = not self.indices.cuda and self.indices.loops.guarded(node)
        for a in made:
            self._note(a, mode, guarded=guarded)
            if (name := self._by_reference(node)) is not None:
                self.found[a.array].escapes.append(f"the function `{name}`")

    def _by_reference(self, node: Node) -> str | None:
        """The function that is handed the element itself and could store into it."""
        call = node.parent.parent if node.parent is not None else None
        if call is None or call.type != "call_expression" or node not in arguments(call):
            return None
        name = text_of(call.child_by_field_name("function"))
        return name if name in self.references else None

    def _note(self, a: Address, mode: Mode, *, whole: bool = False, guarded: bool = False) -> None:
        unplaced = whole or (self.indices.cuda and a.place == START)
        place = None if unplaced else a.place
        self.found[a.array].accesses.append(Access(mode, place, a.nbytes, guarded))

    def _call(self, node: Node) -> None:
        name = text_of(node.child_by_field_name("function"))
        modes = _known(name)
        for argument, mode in zip(arguments(node), modes, strict=False):
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
            return None if holds_pointer(parent) else "a variable that is no pointer"
        if parent.type == "assignment_expression":
            left = parent.child_by_field_name("left")
            kept = left == node or (left is not None and left.type == "identifier")
            return None if kept else f"`{text_of(left)}`"
        if parent.type in _TESTS or operator_of(parent) in _HARMLESS:
            return None
        if parent.type.startswith("gnu_asm"):
            return None  # told once for the whole statement
        return f"`{text_of(parent).strip()[:40]}`"

    def _passed(self, node: Node, listed: Node) -> str | None:
        call = listed.parent
        if call is None or self.address(call):
            return None
        name = text_of(call.child_by_field_name("function")) or text_of(call)[:40]
        known = node in arguments(call)[: len(_known(name))]
        return None if known else f"the function `{name}`"

    def _not_understood(self, node: Node) -> None:
        """Assembly touches what it names; text that does not parse may touch all."""
        assembly = node.type == "gnu_asm_expression"
        names = {text_of(n) for n in walk(node) if n.type == "identifier"}
        touched = {a.array for n in names for a in self.pointers.pointers.get(n, ())}
        where = "inline assembly" if assembly else f"line {node.start_point.row + 1}, unreadable"
        for array in touched if assembly else self.found:
            self.found[array].escapes.append(where)


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
    if parent.type == "pointer_expression" and operator_of(parent) == "&":
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
