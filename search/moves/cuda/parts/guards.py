"""Tests within loops that hold for a whole block: what must be so for all of its threads and
iterations at once.

A test `a < b` holds wherever `b - a - 1` and `a` are no less than 0, as numbers without end (then
nothing wraps in the kernel's types either). Both are linear in the numbers of threads and in the
counters of loops, so their least values over a block are at ends of those: written in 64 bits from
what all threads of a block have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.expressions import operator_of, squeezed
from .....runners.c_source.literals import integer_value
from .....runners.c_source.loops import for_loop
from .....runners.c_source.names import names_in
from .....runners.c_source.nodes import contains, inside, parents, text_of
from .....runners.c_source.types import is_wide_integer
from .....runners.specs.declared_fields import AXES
from ...shared.affine import Form
from ...shared.affine_cpp import form_of
from .expressions import Locals, built_ins
from .reading import CudaKernel

if TYPE_CHECKING:
    from tree_sitter import Node

_THREADS = {f"threadIdx.{axis}": f"blockDim.{axis}" for axis in AXES}
_COMMON = frozenset(f"{b}.{axis}" for b in ("blockIdx", "blockDim", "gridDim") for axis in AXES)
_BUILT_IN = frozenset({"blockIdx", "blockDim", "gridDim"})
_ARITHMETIC = frozenset(
    {"binary_expression", "parenthesized_expression", "number_literal", "identifier",
     "field_expression", "field_identifier"}
)  # fmt: skip
_LESS = {"<": 1, "<=": 0}
_ONE = Form.number(1)
MOST = 12
"""conditions of one loop"""


@dataclass(frozen=True)
class Guard:
    """One comparison of a condition, or all of it where it is nothing else."""

    node: Node
    needs: tuple[Form, ...]
    """forms over what a block has in common; where none is below 0, the comparison holds"""


@dataclass(frozen=True)
class Range:
    """The values that a counter or a thread's number takes."""

    first: Form
    last: Form


class Guards:
    """The comparisons of one kernel's loops."""

    def __init__(self, kernel: CudaKernel, known: Locals, numbers: Mapping[str, int]) -> None:
        self._kernel, self._known, self._numbers = kernel, known, numbers
        plain = {
            p.name
            for p in kernel.function.parameters
            if not p.pointers and not p.reference and is_wide_integer(p.type)
        }
        constants = frozenset(numbers)  # names of array sizes count as changed in `known`
        self._lowest = dict.fromkeys(_COMMON | constants, 0)
        self._common = ((plain - known.changed) | constants) - known.declared.keys()

    def of(self, loop: Node) -> list[Guard]:
        """Those of the conditions within a loop that can hold for a block as a whole."""
        found = list[Guard]()
        for node in inside(loop):
            if node.type in ("conditional_expression", "if_statement"):
                condition = node.child_by_field_name("condition")
                for each in _conjuncts(condition) if condition is not None else ():
                    needs = self._needs(each, loop)
                    if needs is not None:
                        found.append(Guard(each, needs))
        return found

    def _needs(self, node: Node, loop: Node) -> tuple[Form, ...] | None:
        operator = operator_of(node)
        left, right = (node.child_by_field_name(f) for f in ("left", "right"))
        if operator in (">", ">="):
            left, right, operator = right, left, operator.replace(">", "<")
        if node.type != "binary_expression" or operator not in _LESS:
            return None
        ranges = dict[str, Range]()
        small, large = self._form(left, loop, ranges), self._form(right, loop, ranges)
        if small is None or large is None or not ranges:
            return None
        wanted, found = [large - small - Form.number(_LESS[operator]), small], dict[Form, None]()
        for form in wanted:
            least = _least(form, ranges)
            if least is None:
                return None
            found |= {f: None for f in least if not f.at_least(0, self._lowest)}
        return tuple(found)

    def _form(self, node: Node | None, loop: Node, ranges: dict[str, Range]) -> Form | None:
        if node is None:
            return None

        def named(name: str) -> Form | None:
            name = "".join(name.split())
            if name in _THREADS:
                last = Form.name(_THREADS[name]) - _ONE
                ranges[name] = Range(Form(), last)
                return Form.name(name)
            if name in _COMMON or name in self._common:
                return Form.name(name)
            if name in self._known.values:
                return form_of(self._known.values[name], named)
            made = self._counter(name, node, loop)
            if made is None:
                return None
            if made != _OUTER:
                ranges[name] = made
            return Form.name(name)

        return form_of(node, named) or self._as_it_is(node)

    def _as_it_is(self, node: Node) -> Form | None:
        """An expression that is no sum of products, of what a block has in common alone."""
        if any(n.type not in _ARITHMETIC for n in inside(node)):
            return None
        if any(
            n.type == "number_literal" and integer_value(text_of(n)) is None for n in inside(node)
        ):
            return None
        if any(squeezed(n) not in _COMMON for n in inside(node) if n.type == "field_expression"):
            return None
        if names_in(node) - self._common - _BUILT_IN:
            return None
        return Form.name(f"(long long)({' '.join(text_of(node).split())})")

    def _counter(self, name: str, at: Node, loop: Node) -> Range | None:
        """The values of a counter of a loop around a place; `_OUTER` where it is fixed before the
        loop and the same for all threads."""
        if self._known.declared[name] != 1:
            return None
        for above in parents(at):
            found = for_loop(above) if above.type == "for_statement" else None
            if found is None or found.variable != name:
                continue
            if not found.kind or not found.counts_alone or found.relation == "!=":
                return None
            if not contains(loop, above):
                parts = (found.start, found.bound, found.step or found.bound)
                threads = (built_ins(p, self._known.starts) & _THREADS.keys() for p in parts)
                return None if any(threads) else _OUTER
            return self._range(found.start, found.bound, found.step, inclusive=found.inclusive)
        return None

    def _range(
        self, start: Node, bound: Node, step: Node | None, *, inclusive: bool
    ) -> Range | None:
        none = dict[str, Range]()
        first, end = self._form(start, start, none), self._form(bound, bound, none)
        by = _ONE if step is None else self._form(step, step, none)
        if first is None or end is None or by is None or none:
            return None
        last = end if inclusive else end - _ONE
        if by != _ONE:  # the last one that it reaches
            span = f"(({in_64_bits(last - first)}) / ({in_64_bits(by)}) * ({in_64_bits(by)}))"
            last = first + Form.name(span)
        return Range(first, last)


_OUTER = Range(Form(), Form())


def _conjuncts(node: Node) -> Iterator[Node]:
    """The parts of a condition that must all hold."""
    while node.type in ("condition_clause", "parenthesized_expression"):
        if node.named_child_count != 1:
            return
        node = node.named_children[0]
    if node.type == "binary_expression" and operator_of(node) == "&&":
        for side in (node.child_by_field_name(f) for f in ("left", "right")):
            if side is not None:
                yield from _conjuncts(side)
    else:
        yield node


def _least(form: Form, ranges: Mapping[str, Range]) -> list[Form] | None:
    """The least value of a form, and what must not be below 0 for it to be that."""
    signs = dict[Form, None]()
    for name in sorted(form.names & ranges.keys()):
        by = form.coefficient(name)
        if by is None or by.names & ranges.keys():
            return None
        rises = [factor > 0 for _, factor in by.terms]
        if any(rises) and not all(rises):
            return None
        signs |= {Form.name(n): None for n in by.names if n not in _COMMON}
        end = ranges[name].first if all(rises) else ranges[name].last
        form = form.substitute({name: end})
    return [form, *signs]


def in_64_bits(form: Form) -> str:
    """A form as an expression whose names are all made long first."""
    wide = {n: Form.name(f"(long long){n}") for n in form.names if not n.startswith("(")}
    return form.substitute(wide).text()


def text_of_needs(guards: list[Guard]) -> str:
    """One condition for a block, of 64 bits."""
    forms = dict.fromkeys(f for guard in guards for f in guard.needs)
    tests = [f"{in_64_bits(f)} >= 0" for f in sorted(forms, key=lambda f: f.text())]
    return " &&\n                                ".join(tests) or "true"
