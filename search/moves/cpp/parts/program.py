"""The functions and counted loops of a C++ source, as its syntax tree has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, inside, parents, text_of
from .....runners.c_source.parsing import parse_cpp
from ...shared.base import NotApplicable, State

if TYPE_CHECKING:
    from tree_sitter import Node

RELATIONS = {"<": 0, "<=": 1}
"""how a loop may be bounded, and what is added to make the bound exclusive"""
UNSIGNED = re.compile(r"\b(unsigned|size_t|uint\d*_t|uint|ulong)\b")
MIRRORED = {">": "<", ">=": "<="}


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
        """Whether the variable's type has no values below 0."""
        return UNSIGNED.search(self.kind) is not None

    @cached_property
    def statements(self) -> tuple[Node, ...]:
        """Of the body: comments and pragmas left out."""
        return statements(self.body)

    @property
    def pragmas(self) -> tuple[Node, ...]:
        """The lines right before it that apply to it, in order."""
        found: list[Node] = []
        before = self.node.prev_named_sibling
        while before is not None and before.type in ("preproc_call", "comment"):
            if before.type == "preproc_call":
                found.insert(0, before)
            before = before.prev_named_sibling
        return tuple(found)


def statements(body: Node) -> tuple[Node, ...]:
    """Those in braces, else the one there is; comments and pragmas left out."""
    if body.type != "compound_statement":
        return (body,)
    return tuple(n for n in body.named_children if n.type not in ("comment", "preproc_call"))


def loop_of(node: Node) -> Loop | None:
    """The counted loop that a statement is; None for any other."""
    if node.type != "for_statement":
        return None
    start, test, update = (
        node.child_by_field_name(n) for n in ("initializer", "condition", "update")
    )
    if start is None or test is None or update is None or start.type != "declaration":
        return None
    declared = start.child_by_field_name("declarator")
    bounded = _bound(test)
    if declared is None or declared.type != "init_declarator" or bounded is None:
        return None
    name, lower = (
        text_of(declared.child_by_field_name("declarator")),
        declared.child_by_field_name("value"),
    )
    left, bound, relation = bounded
    step = _step(update, name)
    if lower is None or left != name or step is None or node.child_by_field_name("body") is None:
        return None
    if start.named_child_count > 2 or any(c.type == "," for c in start.children):
        return None
    kind = text_of(start.child_by_field_name("type"))
    if kind == "auto":
        return None
    loop = Loop(node, name, kind, lower, bound, relation == "<=", step)
    return None if _assigned(loop.body, name) else loop


def _bound(test: Node) -> tuple[str, Node, str] | None:
    """(variable, bound, < or <=), whichever side the variable is on."""
    if test.type != "binary_expression":
        return None
    left, right, sign = field(test, "left"), field(test, "right"), text_of(test.children[1])
    if sign in RELATIONS:
        return text_of(left), right, sign
    if sign in MIRRORED:
        return text_of(right), left, MIRRORED[sign]
    return None


def _step(update: Node, name: str) -> int | None:
    if update.type == "update_expression":
        up = text_of(update.child_by_field_name("operator")) == "++"
        return 1 if up and text_of(update.child_by_field_name("argument")) == name else None
    if update.type != "assignment_expression" or text_of(field(update, "left")) != name:
        return None
    added = field(update, "right")
    if text_of(field(update, "operator")) != "+=":
        return None
    value = text_of(added) if added.type == "number_literal" else _constant(text_of(added), update)
    return int(value) if value.isdigit() and int(value) > 0 else None


def _constant(name: str, at: Node) -> str:
    """The literal of `constexpr int name = 8` before a node; empty without one."""
    for above in parents(at):
        for node in above.named_children:
            if node.type != "declaration" or node.end_byte > at.start_byte:
                continue
            for each in node.children_by_field_name("declarator"):
                if text_of(each.child_by_field_name("declarator")) == name:
                    fixed = "constexpr" in text_of(node)
                    return text_of(each.child_by_field_name("value")) if fixed else ""
    return ""


def _assigned(body: Node, name: str) -> bool:
    for node in inside(body):
        target = {"assignment_expression": "left", "update_expression": "argument"}.get(node.type)
        if target is not None and text_of(node.child_by_field_name(target)) == name:
            return True
        if node.type == "pointer_expression" and text_of(node) == f"&{name}":
            return True
        if node.type == "reference_declarator" and node.parent is not None:
            if text_of(node.parent.child_by_field_name("value")) == name:
                return True
    return False


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
    def parameters(self) -> tuple[Node, ...]:
        """In order."""
        listed = field(field(self.node, "declarator"), "parameters")
        return tuple(n for n in listed.named_children if n.type == "parameter_declaration")

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
    """A source that parses, and its entry."""

    source: bytes
    root: Node
    entry: Function

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
    if parse_cpp(source).root_node.has_error:
        return NotApplicable("the source does not parse as C++ without its macros")
    found = program_of(source, name)
    return found or NotApplicable(f"no function `{name}` with a body is in the source")


def program_of(source: bytes, entry: str) -> Program | None:
    """A source that parses, with the function of that name; None without one."""
    root = parse_cpp(source).root_node
    for node in inside(root):
        if node.type == "function_definition" and _plain(node) and Function(node).name == entry:
            return Program(source, root, Function(node))
    return None
