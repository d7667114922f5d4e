"""Forms in which a kernel does its work on elements: a guard around it, a guard that returns, a
grid-stride loop, several items a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import single_declaration
from .....runners.c_source.expressions import MIRRORED, bare, operands, operator_of, squeezed
from .....runners.c_source.loops import ForLoop, for_loop
from .....runners.c_source.nodes import text_of
from ...shared.affine import Form
from ...shared.affine_cpp import form_of
from .expressions import Locals, thread_axis
from .reading import CudaKernel

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class Work:
    """Where a kernel does its work on elements, and under which conditions."""

    before: list[Node]
    guards: list[Node]
    bound: Node
    body: list[Node]
    work: Node
    """the first statement that is replaced: the guard or the loop"""
    returns: bool = False
    index: tuple[str, str] | None = None
    """name and type of a variable of the work that numbers the elements; None: one before it"""
    items: str = ""
    """how many elements a thread does, as a number or macro; empty: one, or all of a grid's"""
    item: str = ""
    """the variable that counts them"""


def guarded_work(statements: list[Node], index: str, known: Locals) -> Work | None:
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
        return Work(statements[:number], split[1], split[0], body, node, returns)
    return None


def _is_return(node: Node) -> bool:
    inside = _inside(node)
    return len(inside) == 1 and squeezed(inside[0]) == "return;"


def _inside(node: Node) -> list[Node]:
    """The statements of a block, or the one statement itself."""
    if node.type != "compound_statement":
        return [node]
    return list(node.named_children)


def _split(
    test: Node, index: str, known: Locals, *, negated: bool
) -> tuple[Node, list[Node]] | None:
    """The bound of the index, and the other conditions (as they stand; negated ones as well)."""
    bound: Node | None = None
    others: list[Node] = []
    for part in operands(test, "||" if negated else "&&"):
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


def grid_stride_work(last: Node, known: Locals, kernel: CudaKernel) -> Work | None:
    """`for (int i = thread; i < n; i += threads of the grid)` as the last statement."""
    loop = for_loop(last)
    if loop is None or not (loop.kind and loop.alone) or loop.relation != "<" or loop.step is None:
        return None
    if thread_axis(loop.start, known, kernel.launch) != "x":
        return None
    size = str(kernel.launch.block[0])
    factors = {squeezed(known.behind(f)) for f in operands(known.behind(loop.step), "*")}
    if factors not in ({"gridDim.x", "blockDim.x"}, {"gridDim.x", size}):
        return None
    above = last.parent
    before = list(above.named_children) if above else []
    index = (loop.variable, loop.kind)
    return Work(before[:-1], [], loop.bound, _inside(loop.body), last, index=index)


def several_items_work(last: Node, known: Locals, kernel: CudaKernel) -> Work | None:
    """`for (int k = 0; k < ITEMS; ++k) { int i = first + k * BLOCK; if (i < n) ... }` at the end.

    The items of a thread lie a block apart, or side by side.
    """
    loop = for_loop(last)
    if loop is None or not (loop.kind and loop.alone and loop.counts_alone):
        return None
    if text_of(loop.start) != "0" or loop.step is not None or loop.inclusive:
        return None
    inner = _inside(loop.body)
    declared = single_declaration(inner[0]) if len(inner) == 2 else None
    if declared is None or not _numbers_items(declared[2], loop, known, kernel):
        return None
    found = guarded_work(inner, declared[0], known)
    above = last.parent
    if found is None or found.returns or found.guards or above is None:
        return None
    before = above.named_children[:-1]
    return Work(
        before,
        [],
        found.bound,
        found.body,
        last,
        index=declared[:2],
        items=text_of(loop.bound),
        item=loop.variable,
    )


def _numbers_items(index: Node, loop: ForLoop, known: Locals, kernel: CudaKernel) -> bool:
    """Whether threads of the grid and their items together number every element once."""

    def resolve(name: str) -> Form:
        value = known.values.get(name)
        found = form_of(value, resolve) if value is not None else None
        return Form.name(name) if found is None else found

    form, items = form_of(index, resolve), form_of(loop.bound, resolve)
    if form is None or items is None:
        return False
    block = kernel.launch.block[0]
    own = Form.number(block) if isinstance(block, int) else Form.name(block)
    names = ("blockIdx.x", "threadIdx.x", loop.variable)
    found = tuple(form.coefficient(name) for name in names)
    return form.without(*names) == Form() and any(
        found in ((size * items, Form.number(1), size), (size * items, items, Form.number(1)))
        for size in (own, Form.name("blockDim.x"))
    )
