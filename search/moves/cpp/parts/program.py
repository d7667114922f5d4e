"""The functions and counted loops of a C++ source, as its syntax tree has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from .....runners.c_source.comments import without_comments
from .....runners.c_source.declarators import declared_name
from .....runners.c_source.functions import CppParameter, parameters_of
from .....runners.c_source.literals import integer_value
from .....runners.c_source.loops import LOOPS, for_loop
from .....runners.c_source.nodes import (
    field,
    inside,
    parents,
    qualifiers_of,
    statements_of,
    text_of,
)
from .....runners.c_source.parsing import parse_cpp
from .....runners.c_source.types import may_be_unsigned
from ...shared.base import NotApplicable, State

if TYPE_CHECKING:
    from tree_sitter import Node


def as_sum(node: Node) -> str:
    """An expression's text, in parentheses where + or - beside it would bind more tightly."""
    loose = node.type in ("conditional_expression", "assignment_expression", "comma_expression")
    if node.type == "binary_expression":
        loose = text_of(node.children[1]) not in ("+", "-", "*", "/", "%")
    return f"({text_of(node)})" if loose else text_of(node)


def minus(node: Node) -> str:
    """An expression's text as what is behind a minus."""
    alone = node.type in ("identifier", "number_literal", "call_expression", "subscript_expression")
    return text_of(node) if alone else f"({text_of(node)})"


@dataclass(frozen=True, eq=False)
class Loop:
    """`for (int i = lower; i < upper; i += step) body`, whatever the spelling."""

    node: Node
    variable: str
    kind: str
    """the variable's type as it is written"""
    lower: Node
    bound: Node
    inclusive: bool
    """the bound itself is a value of the variable"""
    step: int

    @property
    def body(self) -> Node:
        """One statement, in braces or not."""
        return field(self.node, "body")

    @property
    def upper(self) -> str:
        """The first value that the variable does not have, when the step is 1: a sum at most."""
        bound = as_sum(self.bound)
        return f"{bound} + 1" if self.inclusive else bound

    @property
    def header(self) -> str:
        """`for (...)` as it stands there."""
        source, start = self.node.text or b"", self.node.start_byte
        return source[: self.body.start_byte - start].decode().rstrip()

    @property
    def unsigned(self) -> bool:
        """Whether the variable's type may have no values below 0."""
        return may_be_unsigned(self.kind)

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """Of the body: comments and pragmas left out."""
        return statements(self.body)

    @property
    def pragmas(self) -> tuple[Node, ...]:
        """The lines right before it that apply to it, in order."""
        found: list[Node] = []
        before = self.node.prev_named_sibling
        while before is not None and before.type == "preproc_call":
            found.insert(0, before)
            before = before.prev_named_sibling
        return tuple(found)


def statements(body: Node) -> tuple[Node, ...]:
    """As `statements_of`, pragmas left out."""
    return tuple(n for n in statements_of(body) if n.type != "preproc_call")


@lru_cache(maxsize=2048)  # every use of a loop's variable asks for its loop
def loop_of(node: Node) -> Loop | None:
    """The counted loop that a statement is; None for any other."""
    head = for_loop(node)
    if head is None or head.kind in ("", "auto") or not head.alone or head.relation == "!=":
        return None
    step = 1 if head.step is None else _number(head.step)
    if step is None or step < 1 or not head.counts_alone:
        return None
    return Loop(node, head.variable, head.kind, head.start, head.bound, head.inclusive, step)


def _number(node: Node) -> int | None:
    """The value of a literal, or of `constexpr int name = 8` before the node."""
    if node.type == "number_literal":
        return integer_value(text_of(node))
    name = text_of(node)
    for above in parents(node):
        for each in above.named_children:
            if each.type != "declaration" or each.end_byte > node.start_byte:
                continue
            for declarator in each.children_by_field_name("declarator"):
                if declared_name(declarator) == name:
                    fixed = "constexpr" in qualifiers_of(each)
                    value = text_of(declarator.child_by_field_name("value"))
                    return integer_value(value) if fixed else None
    return None


@dataclass(frozen=True, eq=False)
class Function:
    """A function with a body."""

    node: Node

    @property
    def name(self) -> str:
        """Without its namespace."""
        declarator = field(self.node, "declarator")
        return text_of(declarator.child_by_field_name("declarator")).split("::")[-1]

    @property
    def body(self) -> Node:
        """In braces."""
        return field(self.node, "body")

    @property
    def parameters(self) -> tuple[CppParameter, ...]:
        """In order."""
        return parameters_of(field(field(self.node, "declarator"), "parameters"))

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Counted loops, in order, outer ones first; fallbacks left out.

        A fallback is what an `else` holds whose condition asks for a constant of the source
        (`if (N >= kTile)`): it serves sizes that are too small to matter.
        """
        found = (loop_of(n) for n in inside(self.body))
        return tuple(f for f in found if f is not None and not _is_fallback(f.node))


def _is_fallback(node: Node) -> bool:
    for above in parents(node):
        if above.type == "else_clause" and above.parent is not None:
            tested = above.parent.child_by_field_name("condition")
            if tested is not None and any(
                n.type == "identifier" and text_of(n)[:1] == "k" and text_of(n)[1:2].isupper()
                for n in inside(tested)
            ):
                return True
    return False


@dataclass(frozen=True, eq=False)
class Program:
    """A source that parses, and its entry. Its nodes know nothing of comments."""

    source: bytes
    """as it is, with comments"""
    root: Node
    entry: Function

    def text(self, node: Node) -> str:
        """A node as it stands there, with comments."""
        return self.source[node.start_byte : node.end_byte].decode()

    @cached_property
    def unread(self) -> str | None:
        """Why moves see fewer loops in the entry than it has, or none; None: they see all that
        count, and at least one."""
        nodes = [n for n in inside(self.entry.body) if n.type in LOOPS]
        if not nodes:
            return "the entry has no loop"
        heads = [head for n in nodes if (head := for_loop(n)) is not None]
        if names := dict.fromkeys(h.variable for h in heads if h.kind in ("", "auto")):
            told = ", ".join(f"`{name}`" for name in names)
            return (
                f"the entry has loops over {told} whose heads do not name the variable's type, and "
                f"such loops are not read: write `for (int {next(iter(names))} = ...`"
            )
        if not self.entry.loops:
            return "the entry has no loop that counts from a first to a last value in plain steps"
        return None

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All with a body that are no templates and no lambdas, the entry among them."""
        found = (n for n in inside(self.root) if n.type == "function_definition")
        return tuple(Function(n) for n in found if _plain(n))


def _plain(node: Node) -> bool:
    templated = node.parent is not None and node.parent.type == "template_declaration"
    declarator = node.child_by_field_name("declarator")
    return not templated and declarator is not None and declarator.type == "function_declarator"


def read_program(state: State) -> Program | NotApplicable:
    """The source's entry with its functions, or why it cannot be read."""
    name = state.spec.kernel.metadata.kernel_name
    source = state.source.encode()
    if parse_cpp(without_comments(source)).root_node.has_error:
        return NotApplicable("the source does not parse as C++ without its macros")
    found = program_of(source, name)
    return found or NotApplicable(f"no function `{name}` with a body is in the source")


@lru_cache(maxsize=8)  # every move asks for the same one
def program_of(source: bytes, entry: str) -> Program | None:
    """A source that parses, with the function of that name; None without one."""
    root = parse_cpp(without_comments(source)).root_node
    for node in inside(root):
        if node.type == "function_definition" and _plain(node) and Function(node).name == entry:
            return Program(source, root, Function(node))
    return None
