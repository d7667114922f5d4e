"""Copies of a kernel's statements for several rows, in which equal loads are one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...shared.affine import Form
from ...shared.edits import Edit, spliced
from .masks import follow, implied
from .rows import Rows, target_of
from .source import argument, is_call
from .texts import primary

Place = tuple[int, int]
"""of a load: its number in the kernel, its row in the program"""


@dataclass(frozen=True)
class Copies:
    """The body of a kernel whose programs do `many` rows each: all loads, then all stores."""

    rows: Rows
    many: int

    def lines(self) -> list[str]:
        """The new body: indices and masks, loads, what is computed of them, stores."""
        body = [s for s in self.rows.kernel.body if s is not self._row_statement]
        assigned = [s for s in body if isinstance(s, ast.Assign)]
        early = [s for s in assigned if target_of(s) not in self.rows.loaded]
        late = [s for s in assigned if target_of(s) in self.rows.loaded]
        stores = [s for s in body if isinstance(s, ast.Expr)]
        found = list(self._first_rows())
        found += [line for s in early for line in self._assigned(s)]
        found += [line for number in range(len(self.rows.loads)) for line in self._loaded(number)]
        found += [line for number in range(len(self.rows.loads)) for line in self._chosen(number)]
        found += [line for s in late for line in self._computed(s)]
        return [*found, *(line for s in stores for line in self._stored(s))]

    # --- names

    @cached_property
    def _row_statement(self) -> ast.Assign | None:
        """`row = tl.program_id(0)`, where that is the only place that asks for the row."""
        (first, *others) = self.rows.calls
        at = self.rows.values.statement(first)
        alone = isinstance(at, ast.Assign) and at.value is first and not others
        return at if alone and isinstance(at, ast.Assign) else None

    @cached_property
    def _row(self) -> str:
        at = self._row_statement
        return self.rows.kernel.fresh("row") if at is None else target_of(at)

    @cached_property
    def _load_names(self) -> tuple[str, ...]:
        """The name of each load in the first row: as the source calls it, or by its array."""
        taken, found = set(self.rows.kernel.taken) | {self._row}, list[str]()
        for load in self.rows.loads:
            at = load.statement
            if isinstance(at, ast.Assign) and at.value is load.call:
                found.append(target_of(at))
            else:
                found.append(free(f"{self.rows.base(load)}_values", taken))
        return tuple(found)

    @cached_property
    def _renamed(self) -> tuple[dict[str, str], ...]:
        """For each row, what the names that vary with it are called there."""
        names = dict.fromkeys([self._row, *self._assigned_varying, *self._load_names])
        taken = set(self.rows.kernel.taken) | set(names)
        first = {n: n for n in names}
        others = ({n: free(f"{n}_{row}", taken) for n in names} for row in range(1, self.many))
        return (first, *others)

    @cached_property
    def _assigned_varying(self) -> list[str]:
        return [
            target_of(s)
            for s in self.rows.kernel.body
            if isinstance(s, ast.Assign) and target_of(s) in self.rows.varying
        ]

    # --- loads

    @cached_property
    def groups(self) -> tuple[tuple[Place, ...], ...]:
        """Loads of the same elements in the same way; each group is loaded once."""
        found = dict[object, list[Place]]()
        for number, load in enumerate(self.rows.loads):
            for row in range(self.many):
                key: object = (number, row)
                if load.address is not None:
                    here = self.rows.of_row(load.address, row, self.many)
                    key = here, load.options
                found.setdefault(key, []).append((number, row))
        return tuple(map(tuple, found.values()))

    @property
    def shares(self) -> bool:
        """Whether a load of one row is another load of another row."""
        return any(all(len(set(each)) > 1 for each in zip(*g, strict=True)) for g in self.groups)

    @cached_property
    def _kept(self) -> dict[Place, tuple[Place, ...]]:
        """For each load those of its group whose masks hold wherever one of the group's does.

        The first of them is the one that is made.
        """
        found = ((g, _widest([(p, self._conditions(p)) for p in g])) for g in self.groups)
        return {place: kept for group, kept in found for place in group}

    def _conditions(self, place: Place) -> tuple[Form | None, ...]:
        """Of a load in its row: forms that its mask says to be at least 1; None: others."""
        number, row = place
        told = tuple(
            None if b is None else self.rows.of_row(b[1] - b[0], row, self.many)
            for b in self.rows.loads[number].bounds
        )
        inside = self._inside(row)
        return told if row == 0 or implied(inside, told) else (*told, inside)

    def _inside(self, row: int) -> Form:
        left = Form.name(self.rows.count) - Form.name(self.rows.number)
        return self.rows.of_row(left, row, self.many)

    def _mask(self, place: Place) -> str:
        """The mask of a load in its row, which keeps it within the rows; empty: none."""
        number, row = place
        load = self.rows.loads[number]
        own = "" if load.mask is None else self._text(load.mask, row)
        if self._inside(row) in self._conditions(place):
            return self._guarded(own, row)
        return own

    def _guarded(self, mask: str, row: int) -> str:
        guard = f"{self._renamed[row][self._row]} < {primary(self.rows.count)}"
        if row == 0:
            return mask
        return f"{primary(mask)} & ({guard})" if mask else guard

    def _raw(self, place: Place) -> str:
        """The name of what a group loads, before lanes outside a mask get another value."""
        number, row = made = self._kept[place][0]
        name = self._renamed[row][self._load_names[number]]
        return self.rows.kernel.fresh(f"{name}_loaded") if self._selects(made) else name

    def _selects(self, place: Place) -> bool:
        """Whether lanes outside a load's own mask must be told apart from what its group loads."""
        load, kept = self.rows.loads[place[0]], self._kept[place]
        return load.other is not None and load.mask is not None and kept != (place,)

    # --- statements

    def _first_rows(self) -> Iterator[str]:
        at = self._row_statement
        first = f"{self._row} = {self.rows.number} * {self.many}"
        if at is None:
            yield first
        else:
            yield from self._with_comments(at, [first])
        yield from (f"{self._renamed[r][self._row]} = {self._row} + {r}" for r in self._others)

    @property
    def _others(self) -> range:
        return range(1, self.many)

    def _assigned(self, statement: ast.Assign) -> Iterator[str]:
        """Of indices and masks: once where they are the same in all rows."""
        once = target_of(statement) not in self.rows.varying
        texts = [self._text(statement, r) for r in range(1 if once else self.many)]
        yield from self._with_comments(statement, texts)

    def _loaded(self, number: int) -> Iterator[str]:
        load = self.rows.loads[number]
        texts = [
            f"{self._raw((number, row))} = {self._load_text((number, row))}"
            for row in range(self.many)
            if self._kept[number, row][0] == (number, row)
        ]
        own = isinstance(load.statement, ast.Assign) and load.statement.value is load.call
        yield from self._with_comments(load.statement, texts) if own else texts

    def _load_text(self, made: Place) -> str:
        number, row = made
        masks = [self._mask(p) for p in self._kept[made]]
        mask = " | ".join(map(primary, masks)) if len(masks) > 1 else masks[0]
        return self._masked(self.rows.loads[number].call, row, mask)

    def _masked(self, call: ast.Call, row: int, mask: str) -> str:
        """A load or store for a row, with another mask; empty: with the one that it has."""
        now = argument(call, 1 if is_call(call, "load") else 2, "mask")
        if now is not None:
            return self._text(call, row, made=True, instead={now: mask} if mask else {})
        text = self._text(call, row, made=True)
        return f"{text[:-1].rstrip().removesuffix(',')}, mask={mask})" if mask else text

    def _chosen(self, number: int) -> Iterator[str]:
        load = self.rows.loads[number]
        for row in range(self.many):
            if self._selects((number, row)):
                assert load.mask is not None and load.other is not None
                name = self._renamed[row][self._load_names[number]]
                mask, other = (self._text(n, row) for n in (load.mask, load.other))
                yield f"{name} = tl.where({mask}, {self._raw((number, row))}, {other})"

    def _computed(self, statement: ast.Assign) -> Iterator[str]:
        if any(load.call is statement.value for load in self.rows.loads):
            return
        yield from self._assigned(statement)

    def _stored(self, statement: ast.Expr) -> Iterator[str]:
        call = statement.value
        assert isinstance(call, ast.Call)
        mask = argument(call, 2, "mask")
        texts = [
            self._masked(call, r, self._guarded("" if mask is None else self._text(mask, r), r))
            for r in range(self.many)
        ]
        yield from self._with_comments(statement, texts)

    def _with_comments(self, statement: ast.stmt, texts: list[str]) -> Iterator[str]:
        """The first text with the statement's comments; those above the kernel's first stay."""
        source = self.rows.kernel.source
        if statement is not self.rows.kernel.body[0]:
            yield from source.comments_above(statement)
        behind = source.comment_behind(statement)
        yield from [texts[0] + behind, *texts[1:]] if texts else filter(None, [behind.strip()])

    def _text(
        self,
        node: ast.expr | ast.stmt,
        row: int,
        *,
        made: bool = False,
        instead: dict[ast.expr, str] | None = None,
    ) -> str:
        """A node as it is written, for a row: with its names, and names in place of loads.

        `made`: the node is itself a load that is made here.
        """
        source = self.rows.kernel.source
        edits = list(self._edits(node, row, dict(instead or {}), made=made))
        text = spliced(source.raw, edits, *source.span(node))
        return text.replace("\n" + source.indent(self.rows.kernel.body[0]), "\n")

    def _edits(
        self, node: ast.AST, row: int, instead: dict[ast.expr, str], *, made: bool
    ) -> Iterator[Edit]:
        source = self.rows.kernel.source
        own = None if made else next((i for i, d in self._numbered if d is node), None)
        if isinstance(node, ast.expr) and node in instead:
            yield source.replace(node, instead[node])
        elif own is not None and isinstance(node, ast.expr):
            yield source.replace(node, self._value(own, row))
        elif isinstance(node, ast.Call) and node in self.rows.calls:
            yield source.replace(node, self._renamed[row][self._row])
        elif isinstance(node, ast.Name):
            name = self._name(node.id, row)
            if name != node.id:
                yield source.replace(node, name)
        else:
            for child in ast.iter_child_nodes(node):
                yield from self._edits(child, row, instead, made=False)

    @cached_property
    def _numbered(self) -> list[tuple[int, ast.Call]]:
        return [(i, load.call) for i, load in enumerate(self.rows.loads)]

    def _name(self, name: str, row: int) -> str:
        """What a name of the source is called in a row."""
        for number, own in enumerate(self._load_names):
            if own == name:
                return self._value(number, row)
        return self._renamed[row].get(name, name)

    def _value(self, number: int, row: int) -> str:
        """The name of what a load gives in a row."""
        if self._selects((number, row)):
            return self._renamed[row][self._load_names[number]]
        return self._raw((number, row))


def free(name: str, taken: set[str]) -> str:
    """The name, or with a number behind it where it is taken; it is taken from now on."""
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number + 1}", number + 1
    taken.add(found)
    return found


def _widest(loads: list[tuple[Place, tuple[Form | None, ...]]]) -> tuple[Place, ...]:
    """Without loads whose conditions are no weaker than those of another one."""
    kept = list[tuple[Place, tuple[Form | None, ...]]]()
    for place, conditions in loads:
        if any(follow(k, conditions) for _, k in kept):
            continue
        kept = [(p, k) for p, k in kept if not follow(conditions, k)]
        kept.append((place, conditions))
    return tuple(p for p, _ in kept)
