"""Names in C++ and CUDA C++ that are not the source's own, with how and where they occur.

A name that the source declares itself (`float time`), a member (`p->time`) or a declaration
does not count: a name counts where it is called, qualified, or used without being the
source's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..c_source.nodes import text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(rb"(?P<before>(?:->|\.|::)?\s*)\b(?P<word>[A-Za-z_]\w*)(?P<call>\s*\()?")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/', re.DOTALL)
_SCHEDULE = re.compile(rb"(\b(?:dist_)?schedule\s*\((?:[\w\s,]*:)?\s*)static\b")
"""the clause of OpenMP, whose first word is a kind of schedule; what follows it is computed"""
_NAMES = frozenset("identifier type_identifier namespace_identifier primitive_type".split())
_STORAGE = frozenset({"static", "thread_local"})
_DECLARATORS = frozenset(
    "pointer_declarator reference_declarator array_declarator parenthesized_declarator "
    "init_declarator function_declarator attributed_declarator structured_binding_declarator "
    "variadic_declarator".split()
)
_TYPES = frozenset(
    "struct_specifier class_specifier union_specifier enum_specifier alias_declaration "
    "enumerator type_parameter_declaration namespace_definition".split()
)
_MACROS = frozenset({"preproc_def", "preproc_function_def"})

How = Literal["called", "qualified", "member", "attribute", "used"]


@dataclass(frozen=True, slots=True)
class Use:
    """A name in a source, how it occurs there, and the line (from 1)."""

    name: str
    how: How
    line: int
    scope: str = ""
    """of a qualified name what stands before it"""


@dataclass(slots=True)
class _Own:
    """The names that a source gives to things of its own."""

    names: set[str]
    functions: set[str]
    enumerations: set[str]

    def explains(self, use: Use) -> bool:
        """Whether that use means a thing of the source itself."""
        if use.how == "qualified":
            return use.scope in self.enumerations
        if use.how == "called":
            return use.name in self.functions
        return use.how == "used" and use.name in self.names


def foreign_names(root: Node) -> list[Use]:
    """Names in a tree of C++ or CUDA that are not its own; macro bodies count as well.

    `static` and `thread_local` count in macros alone, and where the source does not parse:
    elsewhere the whole declaration says what they mean (`cpp_state.py`).
    """
    uses, own = list[Use](), _Own(set(), set(), set())
    for node in walk(root):
        if node.type == "preproc_arg":
            uses += _in_macro(node)
        elif node.type in _STORAGE and node.parent is not None and node.parent.type == "ERROR":
            uses.append(Use(text_of(node), "attribute", node.start_point.row + 1))
        elif node.type in _NAMES:
            _sort(node, uses, own)
        elif node.type == "field_identifier" and _followed_by_call(node):
            uses.append(Use(text_of(node), "member", node.start_point.row + 1))
    return [use for use in uses if not own.explains(use)]


def _sort(node: Node, uses: list[Use], own: _Own) -> None:
    """A name declares a thing of the source, or uses one that may be somebody else's."""
    name, parent = text_of(node), node.parent
    if parent is not None and parent.type in _MACROS and _is_field(parent, "name", node):
        own.names.add(name)
        own.functions.add(name)
        return
    if parent is not None and (
        parent.type == "preproc_params"
        or (parent.type in _TYPES and _is_field(parent, "name", node) and _has_body(parent))
    ):
        own.names.add(name)
        if parent.type == "enum_specifier":
            own.enumerations.add(name)
        return
    declared = _declaration(node)
    if declared is None:
        uses.append(Use(name, _how(node), node.start_point.row + 1, _scope(parent)))
    elif declared != "foreign":
        own.names.add(name)
        if declared == "function":
            own.functions.add(name)


def _declaration(node: Node) -> Literal["variable", "function", "foreign"] | None:
    """What the declarator around a name declares; None: the name is not what is declared.

    A prototype and an `extern` variable are foreign: the thing itself is elsewhere.
    """
    inner, parent, is_function, value = node, node.parent, False, None
    while parent is not None and parent.type in _DECLARATORS:
        if parent.child_by_field_name("declarator") not in (None, inner):
            return None
        if parent.type == "array_declarator" and _is_field(parent, "size", inner):
            return None
        if parent.type == "init_declarator":
            value = parent.child_by_field_name("value")
        is_function = is_function or parent.type == "function_declarator"
        inner, parent = parent, parent.parent
    if parent is None:
        return None
    if parent.type == "lambda_capture_initializer" and parent.child(0) == inner:
        return "variable"
    if inner not in parent.children_by_field_name("declarator"):
        return None
    if parent.type == "function_definition":
        return "function"
    if parent.type == "declaration":
        words = {text_of(c) for c in parent.children if c.type == "storage_class_specifier"}
        if is_function or ("extern" in words and value is None):
            return "foreign"
    return "function" if value is not None and value.type == "lambda_expression" else "variable"


def _scope(parent: Node | None) -> str:
    above = None if parent is None else parent.child_by_field_name("scope")
    return "" if above is None else text_of(above)


def _how(node: Node) -> How:
    parent: Node | None = node.parent
    if parent is not None and parent.type == "qualified_identifier":
        return "qualified"
    above = parent
    for _ in range(4):
        if above is not None and above.type.startswith("attribute"):
            return "attribute"
        above = above.parent if above is not None else None
    return "called" if _followed_by_call(node) else "used"


def _followed_by_call(node: Node) -> bool:
    following: Node | None = node
    while following is not None and following.next_sibling is None:
        following = following.parent
    text = following.next_sibling.text if following and following.next_sibling else None
    return (text or b"").startswith(b"(")


def _in_macro(node: Node) -> Iterator[Use]:
    text = _TEXT.sub(b" ", node.text or b"")
    if _is_pragma(node) and text.split(maxsplit=1)[:1] == [b"omp"]:
        text = _SCHEDULE.sub(rb"\1", text)
    for found in _WORD.finditer(text):
        before = found["before"].strip()
        how: How = "called" if found["call"] else "used"
        if before == b"::":
            how = "qualified"
        elif before:
            how = "member"
        yield Use(found["word"].decode("utf-8", "replace"), how, node.start_point.row + 1)


def _is_pragma(node: Node) -> bool:
    directive = None if node.parent is None else node.parent.child_by_field_name("directive")
    return directive is not None and text_of(directive).split() in (["#pragma"], ["#", "pragma"])


def _is_field(parent: Node, field: str, node: Node) -> bool:
    return parent.child_by_field_name(field) == node


def _has_body(node: Node) -> bool:
    specifier = node.type.endswith("_specifier")
    return not specifier or node.child_by_field_name("body") is not None
