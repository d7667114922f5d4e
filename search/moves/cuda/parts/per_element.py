"""Kernels in which a thread does one element: `int i = thread of the grid; if (i < n) { ... }`.

Recognised in several spellings: a guard around the work, a guard that returns, a grid-stride loop;
one dimension, or two with the elements of a row along x.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import single_declaration
from .....runners.c_source.nodes import text_of, walk
from .....runners.c_source.preprocessor import is_conditional
from ...shared.base import NotApplicable
from .element_forms import Work, grid_stride_work, guarded_work, several_items_work
from .expressions import Axis, Locals, built_ins, thread_axis
from .reading import CudaKernel, names_in_code

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCK_WIDE = re.compile(
    r"__sync\w+|__shfl\w*|__(all|any|ballot|match|reduce)\w*_sync|__activemask|__pipeline\w*|"
    r"asm|__nanosleep|clock\w*"
)
_LEAVES = ("return_statement", "goto_statement", "labeled_statement")
_NESTS = ("for_statement", "while_statement", "do_statement", "for_range_loop", "switch_statement")


@dataclass(frozen=True)
class PerElement:
    """A kernel taken apart. What stays before the work does not depend on the element."""

    kernel: CudaKernel
    known: Locals
    axis: Axis
    """along which a thread does one element"""
    index: str
    """the variable that numbers the elements"""
    type: str
    """its type as it is declared, without const"""
    before: tuple[Node, ...]
    guards: tuple[Node, ...]
    """conditions beside `index < bound`, which do not depend on the index"""
    returns: bool
    """each of the guards alone ends the thread; else all of them together let it work"""
    bound: Node
    body: tuple[Node, ...]
    """statements that are done for one element, those before the guard among them"""
    work: Node
    """the guard or the loop: from here on the kernel is the work on elements"""
    gone: tuple[Node, ...]
    """declarations before `work` that are no longer needed there"""
    looped: bool
    """a grid-stride loop: any number of threads does all elements"""
    items: str
    """how many elements a thread does, a number or macro; empty: one, or all of a grid's"""

    @property
    def wide(self) -> str:
        """A type for counts of elements that holds twice their number."""
        plain = {"int", "unsigned", "unsigned int", "uint", "int32_t", "uint32_t", "signed"}
        return "unsigned" if self.type in plain else self.type


def per_element(kernel: CudaKernel, axis: Axis = "x") -> PerElement | NotApplicable:
    """The kernel taken apart along an axis of its launch, or what is in the way."""
    body = kernel.body
    statements = body.named_children
    conditional = any(n.type.startswith("preproc_if") for n in walk(body))
    if not statements or conditional or is_conditional(body):
        return NotApplicable("`#if` decides what stands in the kernel, or nothing does")
    reason = _in_the_way(body)
    if reason is not None:
        return NotApplicable(reason)
    known = Locals(body)
    index = _index(statements, known, kernel, axis)
    looped = grid_stride_work(statements[-1], known, kernel) if axis == "x" else None
    if looped is None and axis == "x":
        looped = several_items_work(statements[-1], known, kernel)
    if looped is not None:
        return _taken_apart(kernel, known, statements[:-1], looped, axis)
    if index is None:
        return NotApplicable(
            f"no `int i = blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}` numbers elements"
        )
    guarded = guarded_work(statements, index[0], known)
    if guarded is None:
        return NotApplicable(
            f"no `if ({index[0]} < n)` around all that follows, nor one that returns, was found"
        )
    return _taken_apart(kernel, known, guarded.before, guarded, axis, index)


def _in_the_way(body: Node) -> str | None:
    for node in walk(body):
        if node.type == "call_expression":
            name = text_of(node.child_by_field_name("function"))
            if _BLOCK_WIDE.fullmatch(name):
                return f"its threads work together (`{name}`), so none stands for itself"
        if "__shared__" in [text_of(c) for c in node.children if c.type == "type_qualifier"]:
            return "it uses shared memory, so its threads do not stand for themselves"
        if node.type in ("gnu_asm_expression", "lambda_expression"):
            return "inline assembly or a lambda is not looked into"
    return None


def _index(
    statements: list[Node], known: Locals, kernel: CudaKernel, axis: Axis
) -> tuple[str, str] | None:
    """Name and type of the variable that is the number of the thread along the axis."""
    for node in statements:
        if (declared := single_declaration(node)) is None:
            continue
        name, kind, value = declared
        if thread_axis(value, known, kernel.launch) == axis and name in known.values:
            return name, kind
    return None


def _taken_apart(
    kernel: CudaKernel,
    known: Locals,
    statements: list[Node],
    found: Work,
    axis: Axis,
    index: tuple[str, str] | None = None,
) -> PerElement | NotApplicable:
    name, kind = found.index or index or ("", "")
    parts = _declared(statements, known, found, name)
    if isinstance(parts, NotApplicable):
        return parts
    body = (*parts.own, *found.body)
    if reason := _not_for_itself(body, parts, known, found, name, axis):
        return NotApplicable(reason)
    return PerElement(
        kernel=kernel,
        known=known,
        axis=axis,
        index=name,
        type=kind,
        before=parts.before,
        guards=tuple(found.guards),
        returns=found.returns,
        bound=found.bound,
        body=body,
        work=found.work,
        gone=(*parts.gone, *parts.own),
        looped=found.index is not None and not found.items,
        items=found.items,
    )


@dataclass(frozen=True)
class _Declared:
    """Declarations before the work: what stays, what an element needs, what is no longer needed."""

    before: tuple[Node, ...]
    own: tuple[Node, ...]
    gone: tuple[Node, ...]


def _declared(
    statements: list[Node], known: Locals, found: Work, name: str
) -> _Declared | NotApplicable:
    before: list[Node] = []
    own: list[Node] = []
    gone: list[Node] = []
    for node in statements:
        if node.type != "declaration":
            return NotApplicable("something is done before the guard of the elements")
        if found.items and built_ins(node, known.starts) & {"threadIdx.x", "blockIdx.x"}:
            if single_declaration(node) is None:
                return NotApplicable("the number of the thread is declared among others")
            gone.append(node)
        elif found.index is None and (single_declaration(node) or ("",))[0] == name:
            gone.append(node)
        else:
            (own if known.reaches(node, [name]) else before).append(node)
    reads = ("call_expression", "subscript_expression")
    if any(n.type in reads for declaration in own for n in walk(declaration)):
        return NotApplicable("something is read before the guard of the elements")
    return _Declared(tuple(before), tuple(own), tuple(gone))


def _not_for_itself(
    body: tuple[Node, ...], parts: _Declared, known: Locals, found: Work, name: str, axis: Axis
) -> str:
    """Why the work on one element is not for itself; empty: it is."""
    if any(_leaves(n) for n in body):
        return "the work on one element is left by return, continue, break or goto"
    if name in _changed_in(found.body):
        return f"`{name}` changes within the work on one element"
    gone = {(single_declaration(d) or ("",))[0] for d in parts.gone}
    lost = {found.item, *gone} - {"", name}
    if found.items and any(lost & names_in_code(n) for n in body):
        return "the work on one element uses the number of its thread or item"
    starts = {n: values for n, values in known.starts.items() if n != name}
    used = (built_ins(n, starts) for n in (*body, *found.guards))
    threads = frozenset[str]().union(*used) & {f"threadIdx.{axis}", f"blockIdx.{axis}"}
    return f"the work on one element uses {min(threads)} itself" if threads else ""


def _changed_in(body: list[Node]) -> frozenset[str]:
    return frozenset[str]().union(*(Locals(n).changed for n in body))


def _leaves(node: Node) -> bool:
    """Whether a statement ends the work on an element early."""
    if node.type in (*_LEAVES, "continue_statement", "break_statement"):
        return True
    if node.type in _NESTS:
        return any(n.type in _LEAVES for n in walk(node))
    return any(_leaves(child) for child in node.named_children)
