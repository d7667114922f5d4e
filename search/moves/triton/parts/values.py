"""What a name stands for at a place of a kernel, and index arithmetic as forms."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...shared.affine import Form
from .kernels import Kernel
from .nodes import walk
from .source import argument, is_call, written

DEEP = 24
LANE = "lane"
"""of the names of lanes in forms: `lane: BLOCK`, `lane0: BLOCK` once it is axis 0 of a tile"""
PLACED = ("None", ":"), (":", "None")


@dataclass(frozen=True)
class Definition:
    """`name = value`, and the statement that says so."""

    value: ast.expr
    statement: ast.stmt


@dataclass(frozen=True)
class Values:
    """The names of one kernel."""

    kernel: Kernel

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node stands in."""
        return {
            child: node
            for node in walk(self.kernel.function)
            for child in ast.iter_child_nodes(node)
        }

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that an expression is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def loops(self, node: ast.AST) -> Iterator[ast.For]:
        """The loops around a node, the innermost first."""
        while node is not self.kernel.function:
            node = self.parents[node]
            if isinstance(node, ast.For):
                yield node

    def definition(self, name: str, at: ast.stmt) -> Definition | None:
        """The assignment that a name has its value from in a statement.

        None: a parameter, a loop's variable, carried around a loop, or changed in a branch.
        """
        here = at
        while True:
            for sibling in reversed(self._before(here)):
                if name not in self._written[sibling]:
                    continue
                value = _assigned(sibling, name)
                return None if value is None else Definition(value, sibling)
            parent = self.parents[here]
            if not isinstance(parent, ast.stmt) or parent is self.kernel.function:
                return None
            if isinstance(parent, ast.For | ast.While) and name in self._written[parent]:
                return None
            here = parent

    @cached_property
    def _written(self) -> dict[ast.stmt, frozenset[str]]:
        """What each statement writes: names are looked up far more often than there are some."""
        statements = (n for n in walk(self.kernel.function) if isinstance(n, ast.stmt))
        return {s: written(s) for s in statements}

    def _before(self, statement: ast.stmt) -> list[ast.stmt]:
        parent = self.parents[statement]
        fields: list[list[ast.stmt]] = [getattr(parent, f, []) for f in ("body", "orelse")]
        block = next(b for b in fields if statement in b)
        return block[: block.index(statement)]

    def resolved(self, node: ast.expr, at: ast.stmt) -> tuple[ast.expr, ast.stmt]:
        """A name gives way to what it was assigned, and so on, until it is none."""
        for _ in range(DEEP):
            if not isinstance(node, ast.Name):
                break
            found = self.definition(node.id, at)
            if found is None:
                break
            node, at = found.value, found.statement
        return node, at

    def expanded(self, node: ast.expr, at: ast.stmt, deep: int = DEEP) -> ast.expr:
        """With what its names were assigned in their place; the rest of it as it is.

        Equal texts are equal values only where every name left is written once (`writes`): one that
        a loop carries stays a name, and another value at each place.
        """
        values = self

        class Expand(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                found = values.definition(node.id, at) if deep else None
                if found is None:
                    return node
                return values.expanded(found.value, found.statement, deep - 1)

        return Expand().visit(_copied(node))

    @cached_property
    def writes(self) -> Counter[str]:
        """How often each name is written."""
        found = (n for n in walk(self.kernel.function) if isinstance(n, ast.Name))
        return Counter(n.id for n in found if isinstance(n.ctx, ast.Store))

    def _named(self, name: str, at: ast.stmt, deep: int) -> Form | None:
        found = self.definition(name, at)
        if found is None:
            return Form.name(name) if self._is_scalar(name, at) else None
        form = self.form(found.value, found.statement, deep - 1)
        if form is None or lanes(form) or self.writes[name] > 1 or form.names & self.blocks:
            return form
        return Form.name(name)

    @cached_property
    def blocks(self) -> frozenset[str]:
        """Names that say how many lanes there are: what they multiply is where a tile begins."""
        made = (n for n in walk(self.kernel.function) if is_call(n, "arange"))
        ends = (argument(n, 1, "end") for n in made if isinstance(n, ast.Call))
        return frozenset(e.id for e in ends if isinstance(e, ast.Name))

    def _is_scalar(self, name: str, at: ast.stmt) -> bool:
        """Of names without a definition: parameters, constants, loops' variables, tile numbers."""
        if not self.writes[name]:
            return True
        if any(
            isinstance(loop.target, ast.Name) and loop.target.id == name for loop in self.loops(at)
        ):
            return True
        return self._is_tile_number(name)

    def _is_tile_number(self, name: str) -> bool:
        """Whether `tl.swizzle2d` wrote it last, before anything else reads it."""
        nodes = [n for n in walk(self.kernel.function) if isinstance(n, ast.stmt)]
        writing = [
            n
            for n in nodes
            if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For)
            and name in written(n.target if isinstance(n, ast.For) else n)
        ]
        last = max(writing, key=lambda n: n.lineno)
        if not (isinstance(last, ast.Assign) and is_call(last.value, "swizzle2d")):
            return False
        inside = {m for n in writing if not isinstance(n, ast.For) for m in walk(n)}
        names = (n for n in walk(self.kernel.function) if isinstance(n, ast.Name))
        reads = [n.lineno for n in names if n.id == name and n not in inside]
        return all(line > last.lineno for line in reads)

    def form(self, node: ast.expr, at: ast.stmt, deep: int = DEEP) -> Form | None:
        """Sums and products of integers, scalars, and lanes of `tl.arange`; None: something else.

        A scalar that is no sum or product is a name of its own, its text expanded.
        """
        if deep == 0:
            return None
        inner = Forms(self, at, deep)
        match node:
            case ast.Constant(value=int() as value) if type(value) is int:
                return Form.number(value)
            case ast.Name(id=name):
                return self._named(name, at, deep)
            case ast.BinOp():
                return inner.binary(node)
            case ast.Subscript():
                return inner.placed(node)
            case ast.Call():
                return inner.called(node)
            case _:
                return None


@dataclass(frozen=True)
class Forms:
    """The cases of `Values.form`."""

    values: Values
    at: ast.stmt
    deep: int

    def of(self, node: ast.expr) -> Form | None:
        """Of a part."""
        return self.values.form(node, self.at, self.deep - 1)

    def binary(self, node: ast.BinOp) -> Form | None:
        """Sums, differences, products; a lane modulo a size keeps its place within the size."""
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None:
            return None
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Mod() if lanes(left) and not lanes(right):
                return left
            case ast.FloorDiv() | ast.Mod() if not lanes(left + right):
                return Form.name(ast.unparse(self.values.expanded(node, self.at)))
            case _:
                return None

    def placed(self, node: ast.Subscript) -> Form | None:
        """`x[:, None]` and `x[None, :]`: the lanes of x become an axis of a tile."""
        inner = self.of(node.value)
        index = tuple(ast.unparse(node.slice).strip("()").split(", "))
        if inner is None or index not in PLACED:
            return None
        return _on_axis(inner, PLACED.index(index) ^ 1)

    def called(self, node: ast.Call) -> Form | None:
        """Lanes; what only hints or converts; scalars such as a program's number."""
        if is_call(node, "arange") and len(node.args) == 2:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == 0:
                return Form.name(f"{LANE}: {ast.unparse(node.args[1])}")
            return None
        if is_call(node, "multiple_of", "max_contiguous"):
            return self.of(node.args[0])
        if is_call(node, "expand_dims"):
            inner = self.of(node.args[0])
            match argument(node, 1, "axis"):
                case ast.Constant(value=0 | 1 as axis) if inner is not None:
                    return _on_axis(inner, 0 if axis else 1)
                case _:
                    return None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return self.of(node.func.value)
        if is_call(node, "program_id", "num_programs"):
            axis = argument(node, 0, "axis")
            return None if axis is None else Form.name(f"tl.{_name(node)}({ast.unparse(axis)})")
        if is_call(node, "cdiv", "minimum", "maximum") or ast.unparse(node.func) in ("min", "max"):
            parts = [self.of(a) for a in node.args]
            scalar = all(p is not None and not lanes(p) for p in parts)
            text = ast.unparse(self.values.expanded(node, self.at))
            return Form.name(text) if scalar and parts else None
        return None


def lanes(form: Form) -> frozenset[str]:
    """The lanes in a form."""
    return frozenset(n for n in form.names if n.startswith(LANE))


def block_of(lane: str) -> str:
    """How many there are: `BLOCK` of `lane0: BLOCK`."""
    return lane.split(": ", 1)[1]


def _on_axis(form: Form, axis: int) -> Form | None:
    own = lanes(form)
    if any(not name.startswith(f"{LANE}:") for name in own):
        return None
    return form.substitute({n: Form.name(f"{LANE}{axis}: {block_of(n)}") for n in own})


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr


def _assigned(statement: ast.stmt, name: str) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            return value
        case ast.AnnAssign(target=ast.Name(id=target), value=value) if target == name:
            return value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = zip(targets, values, strict=False)
            found = (v for t, v in pairs if isinstance(t, ast.Name) and t.id == name)
            return next(found, None)
        case _:
            return None


def _copied(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body
