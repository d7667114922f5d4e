"""Kernels in which a thread does one element: `int i = thread of the grid; if (i < n) { ... }`.

Recognised in several spellings: a guard around the work, a guard that returns, a grid-stride loop;
one dimension, or two with the elements of a row along x.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.inferring.cpp_signature import text_of, walk
from ..base import NotApplicable
from .expressions import (
    MIRRORED,
    Axis,
    Locals,
    bare,
    built_ins,
    operator_of,
    parts,
    squeezed,
    thread_axis,
)
from .reading import CudaKernel, is_dead

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

    @property
    def wide(self) -> str:
        """A type for counts of elements that holds twice their number."""
        plain = {"int", "unsigned", "unsigned int", "uint", "int32_t", "uint32_t", "signed"}
        return "unsigned" if self.type in plain else self.type


def per_element(kernel: CudaKernel, axis: Axis = "x") -> PerElement | NotApplicable:
    """The kernel taken apart along an axis of its launch, or what is in the way."""
    body = kernel.body
    statements = [n for n in body.named_children if n.type != "comment"]
    conditional = any(n.type.startswith("preproc_if") for n in walk(body))
    if not statements or conditional or is_dead(body):
        return NotApplicable("`#if` decides what stands in the kernel, or nothing does")
    reason = _in_the_way(body)
    if reason is not None:
        return NotApplicable(reason)
    known = Locals(body)
    index = _index(statements, known, kernel, axis)
    looped = _grid_stride(statements[-1], known, kernel) if axis == "x" else None
    if looped is not None:
        return _taken_apart(kernel, known, statements[:-1], looped, axis)
    if index is None:
        return NotApplicable(
            f"no `int i = blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}` numbers elements"
        )
    guarded = _guarded(statements, index[0], known)
    if guarded is None:
        return NotApplicable(
            f"no `if ({index[0]} < n)` around all that follows, nor one that returns, was found"
        )
    return _taken_apart(kernel, known, guarded.before, guarded, axis, index)


@dataclass(frozen=True)
class _Guarded:
    before: list[Node]
    guards: list[Node]
    bound: Node
    body: list[Node]
    work: Node
    """the first statement that is replaced: the guard or the loop"""
    returns: bool = False
    index: tuple[str, str] | None = None


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
        if (declared := _single(node)) is None:
            continue
        name, kind, value = declared
        if thread_axis(value, known, kernel.launch) == axis and name in known.values:
            return name, kind
    return None


def _single(node: Node) -> tuple[str, str, Node] | None:
    """Name, type and value of a declaration of one variable with a value."""
    declarators = node.children_by_field_name("declarator")
    if node.type != "declaration" or len(declarators) != 1:
        return None
    (declarator,) = declarators
    name, value = (declarator.child_by_field_name(f) for f in ("declarator", "value"))
    if declarator.type != "init_declarator" or name is None or value is None:
        return None
    kind = text_of(node.child_by_field_name("type"))
    return (text_of(name), kind, value) if name.type == "identifier" else None


def _guarded(statements: list[Node], index: str, known: Locals) -> _Guarded | None:
    """The first `if` on the index: around the last statement, or one that returns."""
    for number, node in enumerate(statements):
        if node.type != "if_statement":
            if node.type != "declaration":
                return None
            continue
        condition, then = (
            node.child_by_field_name("condition"),
            node.child_by_field_name("consequence"),
        )
        if condition is None or then is None or node.child_by_field_name("alternative"):
            return None
        returns = _is_return(then)
        if condition.named_child_count != 1:
            return None
        split = _split(condition.named_children[0], index, known, negated=returns)
        if split is None or (not returns and number != len(statements) - 1):
            return None
        body = statements[number + 1 :] if returns else _inside(then)
        if not body:
            return None
        return _Guarded(statements[:number], split[1], split[0], body, node, returns)
    return None


def _is_return(node: Node) -> bool:
    inside = _inside(node)
    return len(inside) == 1 and squeezed(inside[0]) == "return;"


def _inside(node: Node) -> list[Node]:
    """The statements of a block, or the one statement itself."""
    if node.type != "compound_statement":
        return [node]
    return [n for n in node.named_children if n.type != "comment"]


def _split(
    test: Node, index: str, known: Locals, *, negated: bool
) -> tuple[Node, list[Node]] | None:
    """The bound of the index, and the other conditions (as they stand; negated ones as well)."""
    bound: Node | None = None
    others: list[Node] = []
    for part in parts(test, "||" if negated else "&&"):
        left, right = (part.child_by_field_name(f) for f in ("left", "right"))
        operator = operator_of(part)
        if left is None or right is None or part.type != "binary_expression":
            return None
        if text_of(bare(right)) == index:
            left, right, operator = right, left, MIRRORED.get(operator, "")
        if text_of(bare(left)) == index and bound is None:
            if operator != (">=" if negated else "<") or known.reaches(right, [index]):
                return None
            bound = right
        elif known.reaches(part, [index]):
            return None
        else:
            others.append(part)
    return None if bound is None else (bound, others)


def _grid_stride(last: Node, known: Locals, kernel: CudaKernel) -> _Guarded | None:
    """`for (int i = thread; i < n; i += threads of the grid)` as the last statement."""
    fields = ("initializer", "condition", "update", "body")
    start, test, update, body = (last.child_by_field_name(f) for f in fields)
    if last.type != "for_statement" or not (start and test and update and body):
        return None
    declared = _single(start)
    if declared is None or thread_axis(declared[2], known, kernel.launch) != "x":
        return None
    name = declared[0]
    left, right = (test.child_by_field_name(f) for f in ("left", "right"))
    if left is None or right is None or operator_of(test) != "<" or text_of(left) != name:
        return None
    step = update.child_by_field_name("right")
    whole = update.type == "assignment_expression" and operator_of(update) == "+="
    if not whole or step is None or text_of(update.child_by_field_name("left")) != name:
        return None
    size = str(kernel.launch.block[0])
    factors = {squeezed(known.behind(f)) for f in parts(known.behind(step), "*")}
    if factors not in ({"gridDim.x", "blockDim.x"}, {"gridDim.x", size}):
        return None
    above = last.parent
    before = [n for n in above.named_children if n.type != "comment"] if above else []
    inside = _inside(body)
    return _Guarded(before[:-1], [], right, inside, last, index=(name, declared[1]))


def _taken_apart(
    kernel: CudaKernel,
    known: Locals,
    statements: list[Node],
    found: _Guarded,
    axis: Axis,
    index: tuple[str, str] | None = None,
) -> PerElement | NotApplicable:
    name, kind = found.index or index or ("", "")
    before: list[Node] = []
    own: list[Node] = []
    gone: list[Node] = []
    for node in statements:
        if node.type != "declaration":
            return NotApplicable("something is done before the guard of the elements")
        if found.index is None and (_single(node) or ("",))[0] == name:
            gone.append(node)
        else:
            (own if known.reaches(node, [name]) else before).append(node)
    if any(n.type in ("call_expression", "subscript_expression") for d in own for n in walk(d)):
        return NotApplicable("something is read before the guard of the elements")
    body = (*own, *found.body)
    if any(_leaves(n) for n in body):
        return NotApplicable("the work on one element is left by return, continue, break or goto")
    if name in _changed_in(found.body):
        return NotApplicable(f"`{name}` changes within the work on one element")
    threads = frozenset[str]().union(*(built_ins(n) for n in body)) & {
        f"threadIdx.{axis}",
        f"blockIdx.{axis}",
    }
    if threads:
        return NotApplicable(f"the work on one element uses {min(threads)} itself")
    return PerElement(
        kernel=kernel,
        known=known,
        axis=axis,
        index=name,
        type=kind,
        before=tuple(before),
        guards=tuple(found.guards),
        returns=found.returns,
        bound=found.bound,
        body=body,
        work=found.work,
        gone=(*gone, *own),
        looped=found.index is not None,
    )


def _changed_in(body: list[Node]) -> frozenset[str]:
    return frozenset[str]().union(*(Locals(n).changed for n in body))


def _leaves(node: Node) -> bool:
    """Whether a statement ends the work on an element early."""
    if node.type in (*_LEAVES, "continue_statement", "break_statement"):
        return True
    if node.type in _NESTS:
        return any(n.type in _LEAVES for n in walk(node))
    return any(_leaves(child) for child in node.named_children)
