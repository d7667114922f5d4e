"""Index expressions of a host function as polynomials over its sizes and its loops' variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..c_source.declarators import declared
from ..c_source.expressions import arguments, bare, called, is_call, operator_of
from ..c_source.functions import CppFunction
from ..c_source.loops import ForLoop, for_loop
from ..c_source.names import changed_in, names_in
from ..c_source.nodes import contains, parents, text_of, walk
from .polynomials import Polynomial, number, variable

if TYPE_CHECKING:
    from tree_sitter import Node

_MINIMA = frozenset({"min", "std::min", "std::min<int>", "std::min<size_t>", "std::min<long>"})
_JUMPS = frozenset({"break_statement", "continue_statement", "return_statement", "goto_statement"})
_CONDITIONS = {
    "if_statement": "condition",
    "while_statement": "condition",
    "conditional_expression": "condition",
}
_DEEPEST = 40
"""declarations that are followed from one to the next"""


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a loop's variable."""

    first: Polynomial | None
    last: Polynomial | None
    """itself reached at most; may hold variables of loops around. None: not understood"""
    steps: bool
    """it counts by other than 1"""

    def put(self, values: Mapping[str, Polynomial]) -> Range:
        """With names replaced by what they stand for."""
        first, last = (None if p is None else p.put(values) for p in (self.first, self.last))
        return Range(first, last, self.steps)


class Loops:
    """The loops of one function; each variable is named with the place of its loop."""

    def __init__(self, function: CppFunction) -> None:
        self.body = function.body
        self.parameters = {p.name for p in function.parameters}
        self.changed = changed_in(function.body)
        self.ranges: dict[str, Range] = {}
        """variable as polynomials name it -> its values"""
        self.depth = 0

    def index(self, node: Node) -> Polynomial | None:
        """An index or size; None: not made of sizes, constants and variables of loops alone."""
        node = bare(node)
        if node.type == "identifier":
            return self._name(node)
        if node.type == "number_literal":
            return _number(text_of(node))
        if node.type == "unary_expression" and operator_of(node) in "+-":
            value = node.child_by_field_name("argument")
            made = self.index(value) if value is not None else None
            sign = number(-1 if operator_of(node) == "-" else 1)
            return None if made is None else made * sign
        if node.type != "binary_expression" or operator_of(node) not in ("+", "-", "*"):
            return None
        sides = (node.child_by_field_name(f) for f in ("left", "right"))
        left, right = (None if side is None else self.index(side) for side in sides)
        if left is None or right is None:
            return None
        match operator_of(node):
            case "+":
                return left + right
            case "-":
                return left - right
            case _:
                return left * right

    def _name(self, node: Node) -> Polynomial | None:
        found = self._declaration(node)
        if isinstance(found, ForLoop):
            return self._of_loop(found)
        name = text_of(node)
        if found == "unknown" or name in self.changed:
            return None
        return variable(name) if isinstance(found, str) else self._followed(found)

    def _followed(self, value: Node) -> Polynomial | None:
        """The value that a variable is declared with, where nothing else names itself so."""
        if self.depth >= _DEEPEST:
            return None
        self.depth += 1
        try:
            return self.index(value)
        finally:
            self.depth -= 1

    def _declaration(self, node: Node) -> ForLoop | Node | str:
        """A use's loop or first value; `free` beyond the body, `unknown` where not understood."""
        name = text_of(node)
        for above in parents(node):
            if above == self.body.parent:
                break
            if above.type == "for_statement":
                loop = for_loop(above)
                if loop is not None and loop.variable == name:
                    return loop
                start = above.child_by_field_name("initializer")
                if start is not None and _declares(start, name) is not None:
                    return "unknown"
            elif above.type in ("for_range_loop", "lambda_expression", "catch_clause"):
                head = above.child_by_field_name("declarator")
                if head is not None and name in names_in(head):
                    return "unknown"
            elif above.type == "compound_statement":
                earlier = [c for c in above.children if c.start_byte < node.start_byte]
                for statement in reversed(earlier):
                    if (value := _declares(statement, name)) is not None:
                        return value
        return "free"

    def _of_loop(self, loop: ForLoop) -> Polynomial | None:
        name = f"{loop.variable}@{loop.node.start_byte:012}"
        if not loop.counts_alone:
            return None
        if name not in self.ranges:
            self.ranges[name] = Range(None, None, False)  # a head that names itself is no range
            last = self._upper(loop.bound)
            if last is not None and not loop.inclusive:
                last -= number(1)
            self.ranges[name] = Range(self.index(loop.start), last, loop.step is not None)
        return variable(name)

    def _upper(self, node: Node) -> Polynomial | None:
        """What a bound is at most; `min(begin + TILE, n)` is at most n."""
        node = bare(node)
        if node.type == "identifier" and text_of(node) not in self.changed:
            found = self._declaration(node)
            if not isinstance(found, str | ForLoop) and self.depth < _DEEPEST:
                self.depth += 1
                try:
                    return self._upper(found)
                finally:
                    self.depth -= 1
        if not is_call(node) or called(node) not in _MINIMA:
            return self.index(node)
        sides = [self._upper(side) for side in arguments(node)]
        plain = [p for p in sides if p is not None and not p.names & self.ranges.keys()]
        return plain[0] if len(plain) == 1 else None

    def guarded(self, node: Node) -> bool:
        """Whether a condition or a jump may keep an access from some values of its loops."""
        named = names_in(node)
        for above in parents(node):
            if above == self.body:
                return False
            condition = above.child_by_field_name(_CONDITIONS.get(above.type, "condition"))
            if above.type in _CONDITIONS and condition is not None:
                if not contains(condition, node) and named & names_in(condition):
                    return True
            if above.type == "binary_expression" and operator_of(above) in ("&&", "||"):
                return True
            if above.type == "for_statement" and any(n.type in _JUMPS for n in walk(above)):
                return True
        return False


def _declares(statement: Node, name: str) -> Node | str | None:
    """The value that a declaration gives to a name; `unknown` for none, None: another's."""
    if statement.type != "declaration":
        return None
    for declarator in statement.children_by_field_name("declarator"):
        made, value = declared(declarator), declarator.child_by_field_name("value")
        if made.name == name:
            plain = declarator.type == "init_declarator" and made.is_plain
            return value if plain and value is not None else "unknown"
    return None


def _number(text: str) -> Polynomial | None:
    try:
        return number(int(text.rstrip("uUlLzZ").replace("'", ""), 0))
    except ValueError:
        return None
