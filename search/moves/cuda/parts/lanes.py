"""Which arrays of a per-element kernel a thread can move as vectors of neighbouring elements.

Element `i` of a row is `p[rest + i]`, where `rest` is the same for all elements of the vector. With
`p[rest + i - 1]` or `+ 1` beside it, or around it, the vector becomes a window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .....runners.c_source.expressions import bare, operator_of
from .....runners.c_source.nodes import contains, text_of, walk
from ...shared.affine import Form
from ...shared.affine_cpp import form_of
from .per_element import PerElement
from .reading import Pointer

if TYPE_CHECKING:
    from tree_sitter import Node

HALO = 3
"""elements beside a vector that count as its neighbours"""
_CONDITIONAL = {
    "if_statement": ("consequence", "alternative"),
    "conditional_expression": ("consequence", "alternative"),
    "for_statement": ("body", "update"),
    "while_statement": ("body",),
    "switch_statement": ("body",),
    "lambda_expression": ("body",),
}


@dataclass(frozen=True)
class Vector:
    """The accesses to one array that are one vector for a thread."""

    pointer: Pointer
    rest: Form
    accesses: tuple[tuple[Node, int], ...]
    """subscripts `p[rest + i + shift]` in the order of the source, each with its shift"""
    loaded: bool
    stored: bool
    modulo: str | None = None
    """the row length that wraps the index: `p[i % cols]`; `rest` is nothing then"""

    @property
    def shifts(self) -> tuple[int, ...]:
        """All shifts, in order."""
        return tuple(sorted({shift for _, shift in self.accesses}))

    @property
    def window(self) -> tuple[int, int] | None:
        """How many elements before and behind the vector are needed; None: no others."""
        found = -min(0, *self.shifts, 0), max(0, *self.shifts, 0)
        return found if any(found) else None

    def covers(self, lanes: int) -> bool:
        """Whether some element of the vector needs each of its lanes: none is read for nothing."""
        needed = {lane + shift for lane in range(lanes) for shift in self.shifts}
        return needed >= set(range(lanes))


@dataclass(frozen=True)
class Interior:
    """Elements that are no edges: `if (edge) ... else ...` ends the work on one, or the reverse."""

    edge: str
    """a condition without side effects, over the index and what all elements share"""
    element: PerElement
    """the kernel with the work on an element that is no edge"""


def interior_of(found: PerElement) -> Interior | None:
    """The work on elements inside, where its last statement tells them from those at an edge.

    Inside is the branch with more accesses.
    """
    *before, last = found.body
    if last.type != "if_statement" or any(n.type != "declaration" for n in before):
        return None
    fields = ("condition", "consequence", "alternative")
    condition, then, other = (last.child_by_field_name(f) for f in fields)
    if not (condition and then and other) or condition.named_child_count != 1:
        return None
    test = condition.named_children[0]
    plain = ("call_expression", "subscript_expression", "assignment_expression",
             "update_expression", "pointer_expression")  # fmt: skip
    if any(n.type in plain for s in (test, *before) for n in walk(s)):
        return None
    names = {text_of(n) for n in walk(test) if n.type == "identifier"}
    if not names <= _outer(found) | {found.index}:
        return None
    other = other.named_children[-1]
    reverse = _subscripts(then) > _subscripts(other)
    inner = then if reverse else other
    inside = inner.named_children
    body = inside if inner.type == "compound_statement" else [inner]
    edge = f"!({text_of(test)})" if reverse else text_of(test)
    return Interior(edge, replace(found, body=(*before, *body))) if body else None


def _subscripts(node: Node) -> int:
    return sum(n.type == "subscript_expression" for n in walk(node))


def vectors_of(found: PerElement) -> tuple[Vector, ...]:
    """Every array that moves as vectors, in the order of the parameters."""
    made = (_vectors(found, p) for p in found.kernel.pointers.values())
    return tuple(v for vectors in made for v in vectors)


def _vectors(found: PerElement, pointer: Pointer) -> list[Vector]:
    uses = [
        n for s in found.body for n in walk(s)
        if n.type == "identifier" and text_of(n) == pointer.name
    ]  # fmt: skip
    subscripts = [n.parent for n in uses if n.parent is not None and _is_base(n, n.parent)]
    if not uses or len(subscripts) < len(uses):
        return []
    groups: dict[tuple[Form | None, str | None], list[tuple[Node, int]]] = {}
    for node in subscripts:
        rest, modulo = _place(node, found)
        shift = sum(factor for monomial, factor in rest.terms if not monomial) if rest else 0
        if rest is not None and abs(shift) <= HALO:
            rest = rest - Form.number(shift)
        else:
            shift = 0
        groups.setdefault((rest, modulo), []).append((node, shift))
    written = any(_is_written(n) for n in subscripts)
    if written and (len(groups) > 1 or any(s for nodes in groups.values() for _, s in nodes)):
        return []
    vectors = (
        _vector(pointer, rest, modulo, nodes, found) for (rest, modulo), nodes in groups.items()
    )
    return [v for v in vectors if v is not None]


def _is_base(node: Node, parent: Node) -> bool:
    return parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node


def _vector(
    pointer: Pointer,
    rest: Form | None,
    modulo: str | None,
    accesses: list[tuple[Node, int]],
    found: PerElement,
) -> Vector | None:
    if rest is None:
        return None
    nodes = [n for n, _ in accesses]
    always = [(n, s) for n, s in accesses if _is_certain(n, found.body)]
    if not any(_is_written(n) for n in nodes):
        certain = {shift for _, shift in always}
        kept = tuple((n, s) for n, s in accesses if s in certain)
        return Vector(pointer, rest, kept, True, False, modulo) if kept else None
    if modulo is not None or not _is_always_written(nodes, found.body):
        return None
    first_writes = _is_plain_write(nodes[0]) and not _reads_own(nodes[0], nodes)
    if not first_writes and not always:
        return None
    return Vector(pointer, rest, tuple(accesses), not first_writes, True)


def _place(node: Node, found: PerElement) -> tuple[Form | None, str | None]:
    """What is added to the index, or the row length that wraps it; (None, None): neither."""
    listed = node.child_by_field_name("indices")
    if listed is None or listed.named_child_count != 1:
        return None, None
    index = bare(listed.named_children[0])
    if text_of(index) != found.index:
        index = found.known.behind(index)
    if index.type == "binary_expression" and operator_of(index) == "%":
        left, right = (index.child_by_field_name(f) for f in ("left", "right"))
        if left is not None and right is not None and text_of(bare(left)) == found.index:
            length = text_of(bare(right))
            return (Form(), length) if length in found.kernel.scalars else (None, None)
    form = form_of(index, lambda name: _resolved(name, found))
    if form is None or form.coefficient(found.index) != Form.number(1):
        return None, None
    return form.without(found.index), None


def _resolved(name: str, found: PerElement, depth: int = 8) -> Form | None:
    """Names of the work on one element by what stands behind them; others as they are."""
    inner = [text_of(n) for s in found.body for n in walk(s) if _declares(n)]
    if name == found.index or (name in _outer(found) and name not in inner):
        return Form.name(name)
    value = found.known.values.get(name)
    if value is None or depth == 0:
        return None
    return form_of(value, lambda n: _resolved(n, found, depth - 1))


def _declares(node: Node) -> bool:
    parent = node.parent
    return (
        node.type == "identifier"
        and parent is not None
        and parent.type in ("init_declarator", "declaration")
        and node in parent.children_by_field_name("declarator")
    )


def _outer(found: PerElement) -> frozenset[str]:
    """Names that mean the same for all elements: parameters and what is declared before."""
    declared = {text_of(n) for s in found.before for n in walk(s) if _declares(n)}
    changed = found.known.changed
    return frozenset({*found.kernel.scalars, *declared} - changed)


def _is_certain(node: Node, body: Iterable[Node]) -> bool:
    """Whether an expression is evaluated for every element."""
    here, above = node, node.parent
    while above is not None and not any(here == s for s in body):
        for field in _CONDITIONAL.get(above.type, ()):
            part = above.child_by_field_name(field)
            if part is not None and contains(part, here):
                return False
        if above.type == "binary_expression" and operator_of(above) in ("&&", "||"):
            right = above.child_by_field_name("right")
            if right is not None and contains(right, here):
                return False
        here, above = above, above.parent
    return True


def _is_written(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "assignment_expression":
        return parent.child_by_field_name("left") == node
    address = parent.type == "pointer_expression" and operator_of(parent) == "&"
    return parent.type in ("update_expression", "field_expression") or address


def _is_plain_write(node: Node) -> bool:
    parent = node.parent
    return (
        parent is not None
        and parent.type == "assignment_expression"
        and parent.child_by_field_name("left") == node
        and operator_of(parent) == "="
    )


def _reads_own(node: Node, nodes: list[Node]) -> bool:
    """Whether the value that is stored is made of what was there: `y[i] = 2 * y[i]`."""
    parent = node.parent
    return parent is not None and any(n != node and contains(parent, n) for n in nodes)


def _is_always_written(nodes: list[Node], body: tuple[Node, ...]) -> bool:
    """Whether every element is stored to; addresses that are taken do not count."""
    writes = [n for n in nodes if _is_written(n)]
    parents = [n.parent for n in writes]
    if any(p is None or p.type != "assignment_expression" for p in parents):
        return False
    return any(_stores(s, writes) for s in body)


def _stores(node: Node, writes: list[Node]) -> bool:
    if node.type == "if_statement":
        then, other = (node.child_by_field_name(f) for f in ("consequence", "alternative"))
        return (
            then is not None
            and other is not None
            and _stores(then, writes)
            and _stores(other, writes)
        )
    if node.type in ("compound_statement", "else_clause"):
        return any(_stores(child, writes) for child in node.named_children)
    return node.type == "expression_statement" and any(
        w.parent == node.named_children[0] for w in writes
    )


def rest_text(form: Form) -> str:
    """A form in C: `row * cols - cols`; empty for none."""
    words: list[str] = []
    for monomial, factor in sorted(form.terms, key=lambda term: (term[1] < 0, not term[0])):
        shown = [str(abs(factor))] if abs(factor) != 1 or not monomial else []
        sign = "-" if factor < 0 else "+"
        words += [sign, " * ".join([*shown, *monomial])]
    if words and words[0] == "+":
        words = words[1:]
    return " ".join(words)
