"""Which index of a C++ or CUDA function runs through which range, where that is plain.

CUDA: the number of a thread in a one-dimensional launch, `blockIdx.x * blockDim.x + threadIdx.x`,
and a variable that holds it unchanged. C++: what is made of sizes, constants and variables of
counting loops. Everything else is not plain.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..c_source.expressions import MIRRORED, bare, operands, squeezed
from ..c_source.functions import CppFunction
from ..c_source.nodes import text_of, walk
from .cpp_loops import Loops
from .polynomials import Polynomial, variable

if TYPE_CHECKING:
    from tree_sitter import Node

THREADS = "<threads>"
"""The name of the number of the thread in a place."""
_THREAD = sorted([["threadIdx.x"], ["blockDim.x", "blockIdx.x"]])


class Indices:
    """The plain indices of one function, and what they are compared with."""

    def __init__(self, function: CppFunction, *, cuda: bool) -> None:
        self.cuda = cuda
        self.loops = Loops(function)
        self.declared: defaultdict[str, list[Node | None]] = defaultdict(list)
        self.assigned = set[str]()
        """variables whose value changes after their declaration"""
        for node in walk(function.body):
            self._collect(node)
        self.bounds = set[str]()
        """what the number of the thread is limited by, as written; `i < n` gives `n`"""
        self.compared = set[str]()
        """names that take part in any other comparison of order"""
        for node in walk(function.body):
            if node.type == "binary_expression":
                self._compare(node)

    def _collect(self, node: Node) -> None:
        if node.type in ("init_declarator", "declaration"):
            for declarator in node.children_by_field_name("declarator"):
                if declarator.type == "identifier":
                    self.declared[text_of(declarator)].append(node.child_by_field_name("value"))
        elif node.type == "assignment_expression":
            self.assigned.add(text_of(node.child_by_field_name("left")))
        elif node.type == "update_expression" and (self.cuda or not _is_loop_step(node)):
            self.assigned.add(text_of(node.child_by_field_name("argument")))
        elif node.type == "pointer_expression" and text_of(node)[:1] == "&":
            self.assigned.add(text_of(node.child_by_field_name("argument")))

    def _compare(self, node: Node) -> None:
        left, right = (node.child_by_field_name(f) for f in ("left", "right"))
        operator = text_of(node.child_by_field_name("operator"))
        if left is None or right is None or operator not in MIRRORED:
            return
        if self._is_thread(bare(right)):
            left, right, operator = right, left, MIRRORED[operator]
        if self._is_thread(bare(left)):
            exact = operator in ("<", ">=")
            self.bounds.add(text_of(bare(right)) if exact else f"{operator} {text_of(right)}")
        else:
            self.compared |= {text_of(n) for n in walk(node) if n.type == "identifier"}

    def place(self, node: Node) -> Polynomial | None:
        """An index as a polynomial, the number of the thread as `THREADS`; None: not plain."""
        if not self.cuda:
            return self.loops.index(node)
        return variable(THREADS) if self._is_thread(bare(node)) else None

    def _is_thread(self, node: Node) -> bool:
        if node.type == "identifier":
            name = text_of(node)
            values = self.declared.get(name, [])
            if len(values) != 1 or values[0] is None or name in self.assigned:
                return False
            return self._is_thread(bare(values[0]))
        terms = (operands(term, "*") for term in operands(node, "+"))
        return sorted(sorted(map(squeezed, factors)) for factors in terms) == _THREAD


def _is_loop_step(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "for_statement":
        return False
    return parent.child_by_field_name("update") == node and "++" in text_of(node)
