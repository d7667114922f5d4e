"""Loads one element beside another load: made of what that one's vectors of four hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...shared.affine import Form
from ...shared.edits import Edit, spliced
from .masks import follow
from .nodes import walk
from .row_copies import free
from .rows import Load, Rows, has_load, target_of
from .source import argument, is_call, names_in
from .values import LANE, lanes

QUAD = 4
PLAIN_CALLS = "program_id", "arange", "cdiv", "minimum", "maximum"
"""what may stand in an index or a mask: the same for each element, and no hint of its neighbours"""
SIDES = {-1: "first", 1: "last"}
"""the element of a quad that a shifted load still loads by itself, by the shift"""


@dataclass(frozen=True)
class Beside:
    """A load whose elements are those of another one, `by` places further."""

    load: Load
    anchor: Load
    by: int

    @property
    def name(self) -> str:
        """What it is called."""
        return _name(self.load)


@dataclass(frozen=True)
class Shifts:
    """A straight-line kernel in which all loads come before what is computed of them."""

    rows: Rows

    @cached_property
    def found(self) -> tuple[Beside, ...]:
        """Loads that need not be made; one that others lean on is made."""
        loads = [load for load in self.rows.loads if self._is_named(load)]
        by_anchor = {_name(a): [b for x in loads if (b := self._beside(x, a))] for a in loads}
        gone, kept = dict[str, Beside](), set[str]()
        for anchor in sorted(by_anchor, key=lambda a: -len(by_anchor[a])):
            fitting = [b for b in by_anchor[anchor] if b.name not in {*gone, *kept}]
            if fitting and anchor not in gone:
                kept.add(anchor)
                gone |= {b.name: b for b in fitting}
        return tuple(gone.values())

    def source(self) -> str:
        """With the first or last element of each quad loaded, the others taken from registers."""
        source, body = self.rows.kernel.source, self.rows.kernel.body
        first = next(s for s in body if has_load(s))
        last = [s for s in body if has_load(s) and isinstance(s, ast.Assign)][-1]
        edits = [source.before(first, *self._indices()), source.after(last, *self._woven())]
        for each in self.found:
            assert isinstance(each.load.statement, ast.Assign)
            (target,) = each.load.statement.targets
            edits.append(source.replace(target, self._edges[each.name]))
            edits += self._moved(each.load.call, each.by)
        return source.edited(edits)

    # --- which

    @cached_property
    def _block(self) -> str:
        """The number of lanes; empty: not the same everywhere."""
        made = (n for n in walk(self.rows.kernel.function) if is_call(n, "arange"))
        ends = {ast.unparse(n.args[-1]) for n in made if isinstance(n, ast.Call) and n.args}
        return ends.pop() if len(ends) == 1 else ""

    def _is_named(self, load: Load) -> bool:
        """Whether a load has a name of its own and takes elements side by side."""
        if not isinstance(load.statement, ast.Assign) or load.statement.value is not load.call:
            return False
        own = frozenset[str]() if load.address is None else lanes(load.address)
        if load.address is None or own != frozenset([f"{LANE}: {self._block}"]):
            return False
        return all(load.address.coefficient(n) == Form.number(1) for n in own)

    def _beside(self, load: Load, anchor: Load) -> Beside | None:
        assert load.address is not None and anchor.address is not None
        by = (load.address - anchor.address).constant
        if by not in SIDES or not self._covers(anchor, load, by):
            return None
        filled = load.other is None or isinstance(load.other, ast.Constant)
        return Beside(load, anchor, by) if filled and self._is_plain(load.call) else None

    def _covers(self, anchor: Load, load: Load, by: int) -> bool:
        """Whether the anchor's mask holds one place further wherever the load's own does."""
        lane = f"{LANE}: {self._block}"
        moved = {lane: Form.name(lane) + Form.number(by)}
        told = (None if b is None else (b[1] - b[0]).substitute(moved) for b in anchor.bounds)
        own = tuple(None if b is None else b[1] - b[0] for b in load.bounds)
        return follow(tuple(told), own)

    def _is_plain(self, call: ast.Call) -> bool:
        """Whether its place and mask can be worked out for some elements alone."""
        needed = self._needed([call])
        values = [s.value for s in self._assigned if target_of(s) in needed]
        nodes = [n for v in (*values, *_parts(call)) for n in walk(v)]
        return all(_is_plain_call(n) for n in nodes if isinstance(n, ast.Call))

    # --- names

    @cached_property
    def _assigned(self) -> list[ast.Assign]:
        return [s for s in self.rows.kernel.body if isinstance(s, ast.Assign)]

    @cached_property
    def _of_lanes(self) -> frozenset[str]:
        """Names whose values are another lane's in another lane."""
        made = self.rows.reached(lambda n: any(is_call(m, "arange") for m in walk(n)))
        return made - self.rows.loaded

    def _needed(self, calls: list[ast.Call]) -> frozenset[str]:
        """Names of lanes that the places and masks of loads are worked out from."""
        needed = set[str]().union(*(names_in(p) for call in calls for p in _parts(call)))
        for statement in reversed(self._assigned):
            if target_of(statement) in needed & self._of_lanes:
                needed |= names_in(statement.value)
        return frozenset(needed & self._of_lanes)

    @cached_property
    def _taken(self) -> set[str]:
        return set(self.rows.kernel.taken)

    @cached_property
    def _edges(self) -> dict[str, str]:
        return {b.name: free(f"{b.name}_edge", self._taken) for b in self.found}

    @cached_property
    def _sided(self) -> dict[int, dict[str, str]]:
        """What names of lanes are called for the first or last elements of quads."""
        found = dict[int, dict[str, str]]()
        for by, side in SIDES.items():
            needed = self._needed([b.load.call for b in self.found if b.by == by])
            names = [n for s in self._assigned if (n := target_of(s)) in needed]
            found[by] = {n: free(f"{n}_{side}", self._taken) for n in names}
        return found

    # --- texts

    def _indices(self) -> Iterator[str]:
        source = self.rows.kernel.source
        for by, names in self._sided.items():
            for statement in self._assigned:
                if (name := target_of(statement)) in names:
                    moved = list(self._moved(statement.value, by))
                    text = spliced(source.raw, moved, *source.span(statement.value))
                    yield f"{names[name]} = {text}".replace("\n" + source.indent(statement), "\n")

    def _moved(self, node: ast.AST, by: int) -> Iterator[Edit]:
        """Edits after which an index or mask is that of one element of each quad."""
        source = self.rows.kernel.source
        if isinstance(node, ast.Call) and is_call(node, "arange"):
            place = f"tl.arange(0, {self._block} // {QUAD}) * {QUAD}"
            yield source.replace(node, f"({place})" if by < 0 else f"({place} + {QUAD - 1})")
        elif isinstance(node, ast.Name):
            if (name := self._sided[by].get(node.id)) is not None:
                yield source.replace(node, name)
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._moved(child, by)

    def _woven(self) -> Iterator[str]:
        """Quads taken apart, and put together again one place further."""
        for anchor in dict.fromkeys(_name(b.anchor) for b in self.found):
            even, odd, *q = (
                free(f"{anchor}_{part}", self._taken)
                for part in ("even", "odd", *(f"q{i}" for i in range(QUAD)))
            )
            shape = f"({self._block} // {QUAD}, 2, 2)"
            yield f"{even}, {odd} = tl.split(tl.reshape({anchor}, {shape}))"
            yield f"{q[0]}, {q[2]} = tl.split({even})"
            yield f"{q[1]}, {q[3]} = tl.split({odd})"
            for each in self.found:
                if _name(each.anchor) == anchor:
                    edge = self._edges[each.name]
                    yield self._joined(each, (edge, *q[:3]) if each.by < 0 else (*q[1:], edge))

    def _joined(self, each: Beside, q: tuple[str, ...]) -> str:
        pairs = f"tl.join(tl.join({q[0]}, {q[2]}), tl.join({q[1]}, {q[3]}))"
        text, load = f"tl.reshape({pairs}, ({self._block},))", each.load
        if load.other is None or load.mask is None:
            return f"{each.name} = {text}"
        mask, other = (self.rows.kernel.source.text(n) for n in (load.mask, load.other))
        return f"{each.name} = tl.where({mask}, {text}, {other})"


def _name(load: Load) -> str:
    assert isinstance(load.statement, ast.Assign)
    return target_of(load.statement)


def _parts(call: ast.Call) -> list[ast.expr]:
    """The place and the mask of a load."""
    parts = argument(call, 0, "pointer"), argument(call, 1, "mask")
    return [p for p in parts if p is not None]


def _is_plain_call(call: ast.Call) -> bool:
    converts = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    return is_call(call, *PLAIN_CALLS) or converts
