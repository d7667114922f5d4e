"""What the threads of a block exchange seen through: shared memory, barriers and shuffles vanish.

The statements are followed for all threads of a block at once. What is written to shared memory is
known by who wrote it (`shared_cells.py`), so what is read is an expression over the reader's place:
a tile is the array that it was filled from, a tree of sums one sum (`lanes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .accesses import SHARED
from .expressions import (
    TRUE,
    Call,
    Carried,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Sum,
    Unreadable,
    all_of,
    conjuncts,
    names_in,
    negation,
)
from .fold_laws import begun_anew, merged
from .folding import fold_of
from .lanes import (
    KINDS,
    Exchanged,
    Value,
    combined,
    expression,
    mixed,
    moved,
    numbers,
    threads_of,
)
from .rewriting import rebuilt, remade, substitute
from .shared_cells import Cells, Loops
from .statements import (
    Barrier,
    Body,
    Each,
    Let,
    Lifted,
    Opaque,
    Scatter,
    Statement,
    Store,
    When,
    statements_in,
)

Array = npt.NDArray[Any]
MAX_TURNS = 64
SHUFFLE = "shfl_"


def exchanges(body: Body) -> bool:
    """Whether threads of a block hand each other values."""
    return any(
        isinstance(each, Barrier)
        or (isinstance(each, Store | Scatter) and each.array.startswith(SHARED))
        or (isinstance(each, Let) and _exchanged(each.value))
        for each in statements_in(body)
    )


def _exchanged(value: Expr) -> bool:
    return (isinstance(value, Load) and value.array.startswith(SHARED)) or (
        isinstance(value, Call) and value.op.startswith(SHUFFLE)
    )


def seen_through(lifted: Lifted, block: Sequence[int] | None) -> Lifted:
    """A kernel over threads without what they exchange; where that is not understood, with a part
    that says so."""
    if not exchanges(lifted.body):
        return lifted
    if block is None:
        return _not_seen(lifted, "threads of a block, whose number is not known")
    shape = (*block, 1, 1, 1)[:3]
    try:
        follow = _Follow(threads_of(shape))
        body = follow.body(lifted.body, np.ones(int(np.prod(shape)), dtype=bool))
    except Unreadable as error:
        return _not_seen(lifted, str(error))
    return replace(lifted, body=body, shared=())


def _not_seen(lifted: Lifted, why: str) -> Lifted:
    return replace(lifted, body=(Opaque(f"what threads exchange: {why}"), *lifted.body))


@dataclass
class _Follow:
    """All threads of one block, statement by statement."""

    threads: dict[str, Array]
    names: dict[str, Value] = field(default_factory=dict[str, Value])
    shared: dict[str, Cells] = field(default_factory=dict[str, Cells])
    loops: Loops = ()
    guards: tuple[Expr, ...] = ()
    varying: set[str] = field(default_factory=set[str])
    """names that have another value in every thread, as they stand for"""

    @property
    def count(self) -> int:
        """Threads of the block."""
        return len(self.threads["tid.x"])

    def body(self, body: Body, alive: Array) -> Body:
        """The statements without what is exchanged."""
        out = list[Statement]()
        for each in body:
            self._statement(each, alive, out)
        return tuple(out)

    def _statement(self, each: Statement, alive: Array, out: list[Statement]) -> None:
        match each:
            case Store(array, index, value) if array.startswith(SHARED):
                cells = self.shared.setdefault(array, Cells())
                made, at = self._value(value, alive), self._plain(index, alive)
                of = made.of if isinstance(made, Exchanged) else made
                if names_in(of) & self.varying:
                    raise Unreadable("shared memory that holds what a loop carries")
                cells.store(at, made, self.threads, alive, self.loops, all_of(self.guards))
            case Scatter(_, array) if array.startswith(SHARED):
                raise Unreadable("atomic updates of shared memory")
            case Store(array, index, value):
                out.append(Store(array, self._plain(index, alive), self._plain(value, alive)))
            case Scatter(op, array, index, value):
                at, what = self._plain(index, alive), self._plain(value, alive)
                out.append(Scatter(op, array, at, what))
            case Let(name, value):
                self._let(name, value, alive, out)
            case When():
                self._when(each, alive, out)
            case Each():
                self._each(each, alive, out)
            case Barrier():
                pass
            case Opaque():
                out.append(each)

    def _let(self, name: str, value: Expr, alive: Array, out: list[Statement]) -> None:
        if isinstance(value, Load) and value.array.startswith(SHARED):
            cells = self.shared.setdefault(value.array, Cells())
            index = self._plain(value.index, alive)
            self.names[name] = cells.load(index, self.threads, alive, self.loops)
        elif isinstance(value, Call) and value.op.startswith(SHUFFLE):
            self.names[name] = self._shuffled(value, alive)
        else:
            self.names.pop(name, None)
            self.varying.add(name)
            out.append(Let(name, self._plain(value, alive)))

    def _shuffled(self, shuffle: Call, alive: Array) -> Value:
        """A value of another thread of a warp (PTX ISA 9.7.9.6): where that lies outside of its
        part of the warp, the thread's own."""
        value = self._value(shuffle.args[0], alive)
        of = value.of if isinstance(value, Exchanged) else value
        if names_in(of) & self.varying or self.loops:
            raise Unreadable("a shuffle of what a loop carries")
        read = [self._value(each) for each in shuffle.args[1:]]
        by, width = (
            numbers(e, self.threads) if not isinstance(e, Exchanged) else None for e in read
        )
        if by is None or width is None:
            raise Unreadable("a shuffle by what only the data says")
        shape = [len(np.unique(self.threads[axis])) for axis in ("tid.x", "tid.y")]
        lane = self.threads["tid.x"] + shape[0] * (
            self.threads["tid.y"] + shape[1] * self.threads["tid.z"]
        )
        part = lane - lane % width
        source = {
            "shfl_down": lane + by,
            "shfl_up": lane - by,
            "shfl_xor": (lane % 32 ^ by) + lane - lane % 32,
            "shfl_idx": part + by % width,
        }[shuffle.op]
        outside = (source < part) | (source >= np.minimum(part + width, self.count))
        return moved(value, np.where(outside, lane, source), self.count)

    def _when(self, each: When, alive: Array, out: list[Statement]) -> None:
        condition = self._plain(each.condition, alive)
        held, rest = alive.copy(), list[Expr]()
        for part in conjuncts(condition):
            holds = numbers(part, self.threads)
            if holds is None:
                rest.append(part)
            else:
                held &= holds.astype(bool)
        left = all_of(tuple(rest))
        other = alive if rest else alive & ~held
        guards = self.guards
        made = list[Body]()
        for inner, mine, guard in (
            (each.yes, held, left),
            (each.no, other, negation(condition) if rest else TRUE),
        ):
            self.guards = guards if guard == TRUE else (*guards, guard)
            made.append(self.body(inner, mine) if mine.any() else ())
        self.guards = guards
        if made[0] or made[1]:
            yes, no = made
            out.append(When(condition, yes, no) if yes else When(negation(condition), no, ()))

    def _each(self, each: Each, alive: Array, out: list[Statement]) -> None:
        count = self._plain(each.count, alive)
        inner = tuple(statements_in(each.body))
        if not exchanges(each.body):
            self._turned(replace(each, count=count), alive, out)
            return
        number = int(count.value) if isinstance(count, Number) else None
        writes = {s.array for s in inner if isinstance(s, Store) and s.array.startswith(SHARED)}
        shuffles = any(
            isinstance(s, Let) and isinstance(s.value, Call) and s.value.op.startswith(SHUFFLE)
            for s in inner
        )
        if number is None:
            if self.loops:
                raise Unreadable("loops within each other around what threads exchange")
            for array in writes:
                self.shared.setdefault(array, Cells()).forget()
            self._turned(replace(each, count=count), alive, out)
            for array in writes:
                self.shared[array].forget()
        elif shuffles or (writes and each.carried) or any(isinstance(s, Barrier) for s in inner):
            self._unrolled(each, number, alive, out)
        else:
            self._in_points(replace(each, count=count), number, alive, out)

    def _in_points(self, each: Each, number: int, alive: Array, out: list[Statement]) -> None:
        """A loop of a known number of iterations as so many more places."""
        before, loops = dict(self.names), self.loops
        self.loops = (*loops, (each.index, number))
        mark = len(out)
        try:
            self._turned(each, alive, out)
            self.loops = loops
        except Unreadable:
            self.loops = loops
            if number > MAX_TURNS:
                raise
            self.names = before
            del out[mark:]
            self._unrolled(each, number, alive, out)

    def _unrolled(self, each: Each, number: int, alive: Array, out: list[Statement]) -> None:
        if number > MAX_TURNS:
            raise Unreadable("a long loop around what threads exchange")
        for carried in each.carried:
            self.names[carried.name] = self._value(carried.first)
        for turn in range(number):
            self.names[each.index] = Number(turn)
            out += self.body(each.body, alive)
            following = [self._value(carried.next) for carried in each.carried]
            for carried, value in zip(each.carried, following, strict=True):
                self.names[carried.name] = value

    def _turned(self, each: Each, alive: Array, out: list[Statement]) -> None:
        """One iteration for all; a loop that only computes is what it leaves."""
        firsts = {c.name: self._plain(c.first, alive) for c in each.carried}
        for carried in each.carried:
            self.names.pop(carried.name, None)
        mine = {*firsts} if each.carried else set[str]()
        outer = set(self.varying)
        self.varying |= mine
        body = self.body(each.body, alive)
        made = {
            c.name: begun_anew(Carried(c.name, c.dtype, firsts[c.name], self._plain(c.next, alive)))
            for c in each.carried
        }
        self.varying = outer
        if body:
            self.varying |= mine
            out.append(Each(each.index, each.count, tuple(made.values()), body))
            return
        for name in made:
            self.names[name] = merged(fold_of(name, made, each.index, each.count))

    def _plain(self, expr: Expr, alive: Array) -> Expr:
        """An expression without names of what was exchanged, true where threads are alive."""
        return expression(self._value(expr, alive), alive, self.threads)

    def _value(self, expr: Expr, alive: Array | None = None) -> Value:
        """The value of an expression, as one that threads exchanged where it is such a one."""
        here = np.ones(self.count, dtype=bool) if alive is None else alive
        used = names_in(expr) & self.names.keys()
        if not used:
            return expr
        if isinstance(expr, Name):
            return self.names[expr.name]
        if isinstance(expr, Fold):
            return self._within(expr, here)
        found = self._combined(expr, here)
        if found is not None:
            return found
        simple = {n: e for n in used if not isinstance(e := self.names[n], Exchanged)}
        if len(simple) == len(used):
            return substitute(expr, simple)
        return rebuilt(expr, lambda part: self._plain(part, here))

    def _within(self, fold: Fold, alive: Array) -> Expr:
        """A loop as a value: what it carries is its own."""
        names = self.names
        bound = {fold.index, *(each.name for each in fold.carried)}
        self.names = {name: value for name, value in names.items() if name not in bound}
        found = rebuilt(fold, lambda part: self._plain(part, alive))
        self.names = names
        return found

    def _combined(self, expr: Expr, alive: Array) -> Value | None:
        """A combination of values of one kind; None for anything else."""
        if isinstance(expr, Sum):
            addends = [(factors, number) for factors, number in expr.terms]
            if any(number != 1 or len(factors) != 1 for factors, number in addends):
                return None
            parts = [self._value(factors[0], alive) for factors, _ in addends]
            found: Value | None = parts[0]
            for each in parts[1:]:
                found = found and combined("add", found, each, self.count)
            return found
        if not isinstance(expr, Call):
            return None
        if expr.op in KINDS:
            left, right = (self._value(each, alive) for each in expr.args)
            return combined(expr.op, left, right, self.count)
        return self._selected(expr, alive) if expr.op == "select" else None

    def _selected(self, expr: Call, alive: Array) -> Value | None:
        condition, yes, no = expr.args
        holds = (
            numbers(self._plain(condition, alive), self.threads)
            if not (names_in(condition) & self.names.keys())
            else None
        )
        if holds is None:
            extreme = extreme_of(expr)
            if extreme is None:
                return None
            pair = (self._value(yes, alive), self._value(no, alive))
            return combined(extreme, *pair, self.count)
        sides = (
            self._value(yes, alive & holds.astype(bool)),
            self._value(no, alive & ~holds.astype(bool)),
        )
        if not any(isinstance(each, Exchanged) for each in sides):
            return remade("select", (condition, *sides), expr.dtype)  # type: ignore[arg-type]
        return mixed(holds.astype(bool), *sides, self.count)


def extreme_of(expr: Call) -> str | None:
    """max or min where a `select` takes the greater or smaller of two."""
    condition, yes, no = expr.args
    if not isinstance(condition, Call) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    greater = condition.op[0] == "g"
    if condition.args == (yes, no):
        return "max" if greater else "min"
    return ("min" if greater else "max") if condition.args == (no, yes) else None
