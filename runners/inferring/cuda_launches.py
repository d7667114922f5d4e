"""The launch of a CUDA kernel as its own file has it: `<<<grid, block>>>` and what computes both.

Host variables that are handed to the kernel are its sizes; others are followed to what they are
given, once, and integers that a host function takes are sizes of their own. What stays unknown is
left open by itself: a block may be known where a grid is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..c_source.nodes import field, parents, text_of, walk
from ..c_source.parsing import parse_cpp
from ..specs.spec import Expression
from .host_names import expression_of, given_in, takes
from .inlined_calls import extreme, inlined
from .signature import symbol_for

if TYPE_CHECKING:
    from tree_sitter import Node

_ROUNDS_UP = re.compile(r"(?i)(ceil_?div|div_?(round_?)?up|cdiv|i_?div_?up|div_?ceil)")
_CASTS = re.compile(r"(?i)(dim3|int|unsigned|size_t|u?int\d+_t|long|float|double)")
_OPERATORS = {"+": "+", "-": "-", "*": "*"}
MAX_STEPS = 32
"""definitions that are followed, one within the other"""


@dataclass(frozen=True)
class FoundLaunch:
    """Sizes along the axes that are written; `?` where one is not known."""

    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    symbols: tuple[str, ...] = ()
    """sizes that only the host has: integers which its function takes and the kernel does not"""


class _Unknown(Exception):
    """A part that the file does not say."""


def launch_of(source: str, kernel: str, sizes: Mapping[int, str]) -> FoundLaunch | None:
    """The first launch of a kernel in a source, None where there is none.

    `sizes`: positions of the kernel's parameters that are sizes, and their symbols.
    """
    root = parse_cpp(source.encode()).root_node
    found = [_launch(call, sizes) for call in launches(root, kernel)]
    return min(found, key=lambda each: [*each.grid, *each.block].count("?"), default=None)


def launches(root: Node, kernel: str) -> Iterator[Node]:
    """Calls of a kernel with `<<<...>>>`, in the order of the source."""
    for node in walk(root):
        if node.type != "call_expression" or _configuration(node) is None:
            continue
        called = field(node, "function")
        if called.type == "template_function":
            called = field(called, "name")
        if text_of(called).rpartition("::")[2] == kernel:
            yield node


def _configuration(call: Node) -> Node | None:
    return next((each for each in call.children if each.type == "kernel_call_syntax"), None)


def _launch(call: Node, sizes: Mapping[int, str]) -> FoundLaunch:
    configuration = _configuration(call)
    assert configuration is not None
    shapes = values(configuration)
    given = {
        text_of(bare(argument)): sizes[place]
        for place, argument in enumerate(values(field(call, "arguments")))
        if place in sizes and bare(argument).type in ("identifier", "field_expression")
    }
    scope = Scope(call, given)
    grid, block = (scope.axes(each) for each in (*shapes, *shapes[-1:])[:2])
    return FoundLaunch(grid, block, tuple(scope.own))


def values(node: Node) -> list[Node]:
    """What a list holds, comments left out."""
    return [each for each in node.named_children if each.type != "comment"]


def bare(node: Node) -> Node:
    """An expression without parentheses and casts."""
    while True:
        if node.type == "parenthesized_expression":
            node = values(node)[0]
        elif node.type == "cast_expression":
            node = field(node, "value")
        elif node.type == "call_expression" and _is_cast(node):
            node = values(field(node, "arguments"))[0]
        else:
            return node


def _is_cast(call: Node) -> bool:
    name, given = field(call, "function"), values(field(call, "arguments"))
    word = text_of(name)
    return len(given) == 1 and (
        word.startswith("static_cast") or re.fullmatch(_CASTS, word) is not None
    )


class Scope:
    """What names mean where a kernel is launched."""

    def __init__(self, call: Node, given: Mapping[str, str]) -> None:
        self._call, self._given, self._steps = call, given, 0
        *_, self._root = parents(call)
        self.own = list[str]()
        """integers of the host that were met, which the kernel is not handed"""

    def axes(self, node: Node) -> tuple[Expression, ...]:
        """The sizes along x, y and z of a `dim3` or number."""
        node = self._followed(bare(node))
        parts = [node]
        if node.type in ("argument_list", "initializer_list"):
            parts = values(node)
        elif node.type == "call_expression" and text_of(field(node, "function")) == "dim3":
            parts = values(field(node, "arguments"))
        found = [self.size(each) for each in parts]
        while len(found) > 1 and found[-1] == 1:
            found.pop()
        return tuple(found) or (1,)

    def _followed(self, node: Node) -> Node:
        """What a name of a `dim3` was made of."""
        while node.type == "identifier":
            made = self._definition(text_of(node))
            if made is None:
                return node
            node = bare(made)
        return node

    def size(self, node: Node) -> Expression:
        """A number or an expression of a spec; `?` where it is not known."""
        try:
            text = self._text(node)
        except (_Unknown, ValueError, IndexError):
            return "?"
        return int(text) if text.isdigit() else text

    def _text(self, node: Node) -> str:
        """An expression of a spec. Raises _Unknown."""
        node = bare(node)
        self._steps += 1
        if self._steps > MAX_STEPS * 8:
            raise _Unknown
        match node.type:
            case "number_literal":
                return str(int(re.sub(r"[uUlL]+$|\.0*f?$", "", text_of(node)), 0))
            case "identifier" | "field_expression":
                return self._named(text_of(node))
            case "binary_expression":
                return self._operation(node)
            case "call_expression":
                return self._call_of(node)
            case "conditional_expression":
                return self._chosen(node)
            case _:
                raise _Unknown

    def _named(self, name: str) -> str:
        if name in self._given:
            return self._given[name]
        dim, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            made = self._definition(dim)
            shape = (*self.axes(made), 1, 1, 1) if made is not None else ("?",) * 3
            size = shape["xyz".index(axis)]
            if size == "?":
                raise _Unknown
            return str(size)
        made = self._definition(name)
        if made is None:
            return self._of_the_host(name)
        return self._text(made)

    def _of_the_host(self, name: str) -> str:
        """An integer that a function around the launch takes, and that no argument of the kernel is
        made of: then both would say the same size. Raises _Unknown."""
        handed = walk(field(self._call, "arguments"))
        if not any(text_of(n) == name for n in handed if n.type == "identifier"):
            for scope in parents(self._call):
                if scope.type == "function_definition" and takes(scope, name):
                    symbol = symbol_for(name)
                    self.own += [symbol] * (symbol not in self.own)
                    return symbol
        raise _Unknown

    def _operation(self, node: Node) -> str:
        left, right = field(node, "left"), field(node, "right")
        operator = text_of(field(node, "operator"))
        if operator == "/":
            return self._quotient(left, right)
        one, other = self._text(left), self._text(right)
        if operator == "<<" and one.isdigit() and other.isdigit():
            return str(int(one) << int(other))
        if operator == ">>" and other.isdigit():
            return f"{_inner(one)} // {1 << int(other)}"
        if operator not in _OPERATORS:
            raise _Unknown
        if one.isdigit() and other.isdigit():
            numbers = int(one), int(other)
            made = {"+": sum(numbers), "-": numbers[0] - numbers[1], "*": numbers[0] * numbers[1]}
            return str(made[operator])
        if operator == "+" and (whole := self._whole(left, right)) is not None:
            return whole
        if operator == "*":
            return f"{_inner(one)} * {_inner(other)}"
        return f"{one} {operator} {_inner(other) if operator == '-' else other}"

    def _whole(self, left: Node, right: Node) -> str | None:
        """`(n - 1) / b + 1` and `n / b + (n % b != 0)`."""
        quotient = bare(left)
        if quotient.type != "binary_expression" or text_of(field(quotient, "operator")) != "/":
            return None
        by = self._text(field(quotient, "right"))
        if "%" in text_of(right):
            return f"cdiv({self._text(field(quotient, 'left'))}, {by})"
        above = " ".join(self._text(field(quotient, "left")).split())
        if self._text(right) == "1" and above.endswith(" - 1"):
            return f"cdiv({above.removesuffix(' - 1')}, {by})"
        return None

    def _quotient(self, left: Node, right: Node) -> str:
        by, terms = self._text(right), [term for term in self._terms(left, 1)]
        if terms.count((by, 1)) == 1 and ("1", -1) in terms:
            terms.remove((by, 1))
            terms.remove(("1", -1))
            return f"cdiv({_sum(terms)}, {by})"
        if by.isdigit() and (str(int(by) - 1), 1) in terms and len(terms) > 1:
            terms.remove((str(int(by) - 1), 1))
            return f"cdiv({_sum(terms)}, {by})"
        whole = _sum(terms)
        if by.isdigit() and whole.isdigit():
            return str(int(whole) // int(by))
        return f"{_inner(whole)} // {_inner(by)}"

    def _terms(self, node: Node, sign: int) -> Iterator[tuple[str, int]]:
        node = bare(node)
        operator = text_of(node.child_by_field_name("operator"))
        if node.type == "binary_expression" and operator in ("+", "-"):
            yield from self._terms(field(node, "left"), sign)
            yield from self._terms(field(node, "right"), sign if operator == "+" else -sign)
        else:
            yield self._text(node), sign

    def _call_of(self, node: Node) -> str:
        name = text_of(field(node, "function")).rpartition("::")[2]
        given = values(field(node, "arguments"))
        if name in ("ceil", "ceilf") and len(given) == 1:
            inner = bare(given[0])
            if inner.type == "binary_expression" and text_of(field(inner, "operator")) == "/":
                pair = [self._text(field(inner, side)) for side in ("left", "right")]
                return f"cdiv({pair[0]}, {pair[1]})"
        name = name.partition("<")[0]
        own = inlined(self._root, name, [text_of(each) for each in given])
        if own is not None and (made := expression_of(own)) is not None:
            with suppress(_Unknown):
                return self._text(made)
        pair = [self._text(each) for each in given]
        if len(pair) == 2 and _ROUNDS_UP.search(name):
            return f"cdiv({pair[0]}, {pair[1]})"
        if len(pair) == 2 and name in ("min", "max"):
            return f"{name}({pair[0]}, {pair[1]})"
        raise _Unknown

    def _chosen(self, node: Node) -> str:
        """`m > n ? m : n`. Raises _Unknown for another choice."""
        condition = bare(field(node, "condition"))
        if condition.type != "binary_expression":
            raise _Unknown
        left, right = (self._text(field(condition, side)) for side in ("left", "right"))
        yes, no = (self._text(field(node, side)) for side in ("consequence", "alternative"))
        operator = text_of(field(condition, "operator"))
        found = extreme((left, operator, right), yes, no)
        if found is None:
            raise _Unknown
        return found

    def _definition(self, name: str) -> Node | None:
        """What a name is first given, in the functions around the launch, or in the file."""
        for scope in parents(self._call):
            if scope.type in ("function_definition", "translation_unit"):
                inner = ("function_definition",) if scope.type == "translation_unit" else ()
                found = given_in(scope, name, self._call.start_byte, inner)
                if found is not None:
                    return found
        return None


def _sum(terms: Sequence[tuple[str, int]]) -> str:
    text = ""
    for word, sign in terms:
        if not text:
            text = word if sign > 0 else f"-{word}"
        else:
            text += f" {'+' if sign > 0 else '-'} {word}"
    return text or "0"


def _inner(text: str) -> str:
    """In parentheses where it is a sum or quotient."""
    return f"({text})" if re.search(r" [-+/]", text) and not text.startswith("cdiv(") else text
