"""Expressions of a kernel taken apart: sums, products, numbers of threads, names behind names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from .....runners.c_source.declarators import declared
from .....runners.c_source.expressions import bare, operands, squeezed
from .....runners.c_source.names import changed_in, names_in
from .....runners.c_source.nodes import contains, parents, text_of, walk
from .....runners.c_source.types import is_wide_integer
from .....runners.specs.declared_fields import AXES
from .....runners.specs.declared_plan_model import LaunchStep

if TYPE_CHECKING:
    from tree_sitter import Node

Axis = Literal["x", "y", "z"]
_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])")


class Locals:
    """Local variables of a kernel that are given a value once, where they are declared."""

    def __init__(self, body: Node) -> None:
        given: dict[str, list[Node | None]] = {}
        others, plain = set[str](), set[str]()
        uses: dict[str, list[Node]] = {}
        for node in walk(body):
            if node.type == "identifier":
                uses.setdefault(text_of(node), []).append(node)
        for node in walk(body):
            if node.type == "declaration":
                for declarator in node.children_by_field_name("declarator"):
                    made, value = declared(declarator), declarator.child_by_field_name("value")
                    if made.is_plain:
                        given.setdefault(made.name, []).append(value)
                        if _holds_integers(node) and _means_one(declarator, uses[made.name]):
                            plain.add(made.name)
                    else:
                        inner = declarator.child_by_field_name("declarator") if value else None
                        others |= names_in(inner or declarator)
        self.changed = changed_in(body) | others
        """names that are assigned, counted up or down, or whose address is taken"""
        self.declared = Counter({name: len(values) for name, values in given.items()})
        self.values: Mapping[str, Node] = {
            name: values[0]
            for name, values in given.items()
            if len(values) == 1 and values[0] is not None
            if name in plain and name not in self.changed
        }
        """what stands behind each name that is this value and nothing else wherever it occurs: not
        a part of it (`short i = threadIdx.x`), nor elsewhere a parameter of that name"""
        self.starts: Mapping[str, tuple[Node, ...]] = {
            name: tuple(v for v in values if v is not None) for name, values in given.items()
        }
        """what each is given where it is declared, whether or not it changes later"""

    def behind(self, node: Node) -> Node:
        """The expression that a name stands for, followed to its end; others as they are."""
        node, seen = bare(node), set[str]()
        while node.type == "identifier" and text_of(node) not in seen:
            seen.add(text_of(node))
            value = self.values.get(text_of(node))
            if value is None:
                break
            node = bare(value)
        return node

    def reaches(self, node: Node, names: Iterable[str]) -> bool:
        """Whether an expression depends on one of the names, through others as well."""
        pending, seen, wanted = [node], set[str](), set(names)
        while pending:
            for part in walk(pending.pop()):
                if part.type != "identifier":
                    continue
                name = text_of(part)
                if name in wanted:
                    return True
                if name not in seen:
                    pending += self.starts.get(name, ())
                seen.add(name)
        return False


def _holds_integers(declaration: Node) -> bool:
    """Whether a variable is what it is given: neither cut short nor made a float."""
    kind = text_of(declaration.child_by_field_name("type"))
    return kind == "auto" or is_wide_integer(kind)


def _means_one(declarator: Node, uses: list[Node]) -> bool:
    """Whether a name occurs only behind its declaration and within the block that it holds in."""
    declaration = next(p for p in parents(declarator) if p.type == "declaration")
    block = declaration.parent or declaration
    return all(
        use == declarator.child_by_field_name("declarator")
        or (use.start_byte >= declarator.end_byte and contains(block, use))
        for use in uses
    )


def thread_axis(node: Node, known: Locals, launch: LaunchStep) -> Axis | None:
    """The axis along which an expression numbers the threads of the whole grid.

    `blockIdx.x * blockDim.x + threadIdx.x`, terms and factors in any order, through local
    names; a block size in numbers or macros counts where it is the launch's.
    """
    terms = [known.behind(t) for t in operands(known.behind(node), "+")]
    if len(terms) != 2:
        return None
    for thread, product in (terms, terms[::-1]):
        match = _BUILT_IN.fullmatch(squeezed(thread))
        if match is None or match[1] != "threadIdx":
            continue
        axis: Axis = match[2]  # type: ignore[assignment]
        factors = {squeezed(known.behind(f)) for f in operands(product, "*")}
        size = str(launch.block[AXES.index(axis)])
        if f"blockIdx.{axis}" in factors and len(factors) == 2:
            (other,) = factors - {f"blockIdx.{axis}"}
            if other in (f"blockDim.{axis}", size):
                return axis
    return None


def built_ins(node: Node, values: Mapping[str, tuple[Node, ...]] | None = None) -> frozenset[str]:
    """`threadIdx.x` and its like in an expression, and in what the names in it stand for."""
    values = values or {}
    pending, seen, found = [node], set[str](), set[str]()
    while pending:
        for part in walk(pending.pop()):
            if part.type == "field_expression" and _BUILT_IN.fullmatch(squeezed(part)):
                found.add(squeezed(part))
            elif part.type == "identifier":
                name = text_of(part)
                if name not in seen and name in values:
                    pending += values[name]
                seen.add(name)
    return frozenset(found)
