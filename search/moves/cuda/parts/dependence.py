"""What a value hangs on, whatever way it takes: declarations, assignments, steps and loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import Declared, declared
from .....runners.c_source.expressions import operator_of
from .....runners.c_source.names import names_in, written_by
from .....runners.c_source.nodes import walk
from .expressions import built_ins
from .reading import CudaKernel

if TYPE_CHECKING:
    from tree_sitter import Node


class Flow:
    """The values that reach the variables of a kernel. What branches decide is not followed, nor
    what lies in memory."""

    def __init__(self, kernel: CudaKernel) -> None:
        self._kernel = kernel

    @cached_property
    def given(self) -> Mapping[str, tuple[Node, ...]]:
        """All that each variable is given: where it is declared, and by every assignment."""
        found: dict[str, list[Node]] = {}
        for node in walk(self._kernel.body):
            name, value = "", None
            if node.type == "init_declarator":
                name, value = declared(node).name, node.child_by_field_name("value")
            elif (target := written_by(node)) is not None and target.type == "identifier":
                (name,) = names_in(target)
                value = node.child_by_field_name("right")
            if name and value is not None:
                found.setdefault(name, []).append(value)
        return {name: tuple(values) for name, values in found.items()}

    def blocks(self, node: Node) -> frozenset[str]:
        """The axes of `blockIdx` that an expression hangs on."""
        numbers = built_ins(node, self.given)
        return frozenset(name[-1] for name in numbers if name.startswith("blockIdx"))

    def names(self, node: Node) -> frozenset[str]:
        """Every name that an expression hangs on."""
        pending, seen = [node], set[str]()
        while pending:
            for name in names_in(pending.pop()) - seen:
                seen.add(name)
                pending += self.given.get(name, ())
        return frozenset(seen)

    def leads_to_array(self, name: str) -> bool:
        """Whether a pointer is one that a launch hands to the kernel, or made of such alone: the
        first name of whatever it is given is one again."""
        pending, seen = [name], set[str]()
        while pending:
            here = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            if here in self._kernel.pointers:
                continue
            values = [v for v in self.given.get(here, ()) if names_in(v) & self._pointing]
            if not values or any(names_in(v) & self._arrays for v in values):
                return False
            pending += [n for v in values for n in names_in(v) & self._pointing]
        return True

    @cached_property
    def _pointing(self) -> frozenset[str]:
        """Parameters that point to memory, and local pointers."""
        local = (name for name, made in self._local if made.pointers)
        return frozenset(self._kernel.pointers) | frozenset(local)

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """Local arrays, those of shared memory among them."""
        return frozenset(name for name, made in self._local if made.sizes)

    @property
    def _local(self) -> Iterator[tuple[str, Declared]]:
        for node in walk(self._kernel.body):
            if node.type == "declaration":
                for each in node.children_by_field_name("declarator"):
                    made = declared(each)
                    yield made.name, made

    def reads(self) -> Iterator[Node]:
        """Where the kernel reads memory that a launch hands to it: `x[i]` and `*p`."""
        for node in walk(self._kernel.body):
            deref = node.type == "pointer_expression" and operator_of(node) == "*"
            if not deref and node.type != "subscript_expression":
                continue
            base = node.child_by_field_name("argument")
            above = node.parent
            written = above is not None and written_by(above) == node
            if base is None or (written and operator_of(above or node) == "="):
                continue
            if self.names(base) & self._kernel.pointers.keys():
                yield node
