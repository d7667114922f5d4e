"""PTX of a kernel to statements, by executing it on expressions.

Paths that part are both taken, and meet with `select`; a loop is executed once, with names for what
it carries. The PTX is that of `runners/toolchains/compilers/plain_ptx.py`: optimised as far as
every variable is a register, with loops and calls as the source has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ptx import Instruction, Module
from ..ptx.operands import branch_target, name_in_scope
from ..regions.loops import Loop
from .accesses import LOCAL, Memory, value_type
from .calls import Calls, Pieces, pieces_of, registers_of
from .expressions import (
    Expr,
    Name,
    Number,
    Pointer,
    Unreadable,
    call,
    names_in,
    negation,
)
from .folding import closed_forms
from .frames import (
    Exit,
    Frame,
    Kept,
    Turn,
    Values,
    as_pointer,
    bare,
    finished,
    like,
    merge,
    names_of,
    same_kind,
)
from .statements import (
    Body,
    Opaque,
    Statement,
    When,
    defined,
    statements_in,
)
from .sums import product, total

MAX_TURNS, MAX_UNROLLED = 256, 4096
"""iterations of one loop, and of all loops of a kernel, that are executed one by one"""


def known_of(block: Sequence[int] | None) -> dict[str, Expr]:
    """What the threads of a block along each axis say of coordinates."""
    if block is None:
        return {}
    sizes = dict(zip("xyz", (*block, 1, 1, 1), strict=False))
    known: dict[str, Expr] = {f"ntid.{axis}": Number(n) for axis, n in sizes.items()}
    known |= {f"tid.{axis}": Number(0) for axis, n in sizes.items() if n == 1}
    x, y, z = (known.get(f"tid.{axis}", Name(f"tid.{axis}")) for axis in "xyz")
    rows = total((y, product(Number(sizes["y"]), z)))
    thread = total((x, product(Number(sizes["x"]), rows)))
    return known | {"laneid": call("rem", thread, Number(32), dtype="int")}


class Reader:
    """One kernel of a module, executed once. Make a new one for every reading."""

    def __init__(self, module: Module, memory: Memory, block: Sequence[int] | None = None) -> None:
        self.memory = memory
        self.calls = Calls(module, memory, self._enter, known_of(block))
        self.out = list[Statement]()
        self.unrolled = 0
        self.depth: int = 0
        self.entered = self.loops = self.names = 0

    def kernel(self, name: str) -> Body:
        """The statements of a kernel; what cannot be read is opaque."""
        frame, values = self._framed(name), Values()
        function = frame.function
        for parameter, argument in zip(function.parameters, self.memory.arguments, strict=True):
            pointer = Pointer(argument.name, Number(0))
            value = pointer if argument.array else Name(argument.name, value_type(argument.dtype))
            values[frame.key(f"{parameter.name}+0")] = value
        try:
            self._run(frame, 0, values, frozenset())
        except Unreadable as error:
            self.out.append(Opaque(str(error)))
        return tuple(self.out)

    def _framed(self, name: str) -> Frame:
        self.entered += 1
        return Frame(self.calls.functions[name], str(self.entered))

    def _enter(self, name: str, args: Sequence[Pieces], values: Values) -> Pieces:
        """Execute a function of the source in its place; what it returns."""
        frame = self._framed(name)
        if self.entered > 500:
            raise Unreadable("functions that call each other too often")
        for parameter, pieces in zip(frame.function.parameters, args, strict=True):
            values |= {frame.key(f"{parameter.name}+{at}"): value for at, value in pieces.items()}
        out = self.out
        self._run(frame, 0, values, frozenset())
        self.out = out
        return pieces_of(values, frame.key("func_retval0"))

    def _run(self, frame: Frame, at: int, values: Values, stops: frozenset[int]) -> int | None:
        """Go on from a block until one of `stops`, or None: the end of the function."""
        here: int | None = at
        while here is not None and here not in stops:
            loop = frame.headers.get(here)
            if loop is not None and not frame.is_turning(loop):
                here = self._loop(frame, loop, values, stops)
            else:
                here = self._block(frame, here, values, stops)
        return here

    def _block(self, frame: Frame, at: int, values: Values, stops: frozenset[int]) -> int | None:
        block = frame.blocks[at]
        code = frame.function.instructions[block.first : block.last]
        for each in code:
            if branch_target(each) is None and each.stem not in ("ret", "exit"):
                self.calls.execute(frame, each, values, self.out)
        ways = block.successors
        if len(ways) < 2:
            return ways[0] if ways else None
        if len(ways) > 2 or code[-1].stem != "bra":
            raise Unreadable("a jump by a table")
        condition = self._condition(frame, code[-1], values)
        yes, no = ways[0], ways[-1]
        if isinstance(condition, Number):
            return yes if condition.value else no
        turn = frame.turns[-1] if frame.turns else None
        if turn is not None and not {yes, no} <= turn.loop.blocks:
            return self._test(turn, condition, (yes, no), values)
        return self._parted(frame, condition, (yes, no), frame.joins[at], values, stops)

    def _condition(self, frame: Frame, branch: Instruction, values: Values) -> Expr:
        found = values.get(frame.key(name_in_scope(branch, branch.guard)))
        if found is None:
            raise Unreadable("a condition whose value is unknown")
        return negation(found) if branch.negated else found

    def _test(self, turn: Turn, condition: Expr, ways: tuple[int, int], values: Values) -> int:
        """The test of a loop: note it, and go on inside."""
        yes, no = ways
        again = turn.stay is not None and (turn.last or self.out)
        if turn.single or again or self.depth != turn.depth or not {*ways} & turn.loop.blocks:
            raise Unreadable("a loop that is left in the middle")
        inside = yes in turn.loop.blocks
        if turn.stay is not None:
            leave = negation(condition) if inside else condition
            turn.breaks.append((leave, no if inside else yes, dict(values)))
            return yes if inside else no
        turn.stay = condition if inside else negation(condition)
        turn.leaves_to = no if inside else yes
        turn.at_exit, turn.before = dict(values), len(self.out)
        turn.last = (yes if inside else no) == turn.loop.header
        return yes if inside else no

    def _parted(
        self,
        frame: Frame,
        condition: Expr,
        ways: tuple[int, int],
        join: int | None,
        values: Values,
        stops: frozenset[int],
    ) -> int | None:
        """Both ways of a branch, up to where they meet."""
        ends, made = list[tuple[int | None, Values]](), list[Body]()
        out, until = self.out, stops if join is None else stops | {join}
        self.depth += 1
        for way in ways:
            mine = dict(values)
            self.out = list[Statement]()
            ends.append((self._run(frame, way, mine, until), mine))
            made.append(tuple(self.out))
        self.depth -= 1
        self.out = out
        if ends[0][0] != ends[1][0]:
            raise Unreadable("a loop or block that is left in the middle")
        if made[0] or made[1]:
            out.append(_when(condition, *made))
        merge(condition, ends[0][1], ends[1][1], values)
        return ends[0][0]

    def _loop(self, frame: Frame, loop: Loop, values: Values, stops: frozenset[int]) -> int | None:
        """A whole loop; where control goes after it. One that is no loop over an index is executed
        turn by turn where its end is known; else it is opaque, and what it writes unknown."""
        out, depth, turns = self.out, self.depth, len(frame.turns)
        mine, found, why = dict(values), list[Statement](), ""
        self.out = list[Statement]()
        try:
            turn, carried, index = self._turned(frame, loop, mine)
            if counters := self._counters(carried, index):
                turn, carried, index = self._turned(frame, loop, mine, (index, counters))
            body, exits = finished(turn, carried, index, tuple(self.out))
            found += body
            self.out, self.depth = found, depth
            del frame.turns[turns:]
            after = self._after(frame, loop, exits, mine, stops)
        except Unreadable as error:
            after, why = -1, str(error)
        self.depth = depth
        del frame.turns[turns:]
        opaque = any(isinstance(each, Opaque) for each in statements_in(tuple(found)))
        if why or opaque:
            spread = dict(values)
            self.out = list[Statement]()
            try:
                end = self._turn_by_turn(frame, loop, spread)
                after, mine, found, why = end, spread, self.out, ""
            except Unreadable:
                self.depth = depth
                del frame.turns[turns:]
        self.out = out
        if why:
            return self._given_up(frame, loop, values, why)
        out += found
        values.clear()
        values |= mine
        return after

    def _counters(self, carried: Kept, index: str) -> dict[str, Expr]:
        """Where a loop within was not understood, the values of this one that its iteration says:
        knowing them, the loop within may be."""
        body = tuple(self.out)
        if not any(isinstance(each, Opaque) for each in statements_in(body)):
            return {}
        firsts = {name: bare(first) for name, first, _ in carried.values()}
        nexts = {name: bare(following) for name, _, following in carried.values()}
        known = closed_forms(firsts, nexts, index, frozenset(defined(body)))
        return {key: known[name] for key, (name, _, _) in carried.items() if name in known}

    def _given_up(self, frame: Frame, loop: Loop, values: Values, why: str) -> int:
        exits = {s for b in loop.blocks for s in frame.blocks[b].successors} - loop.blocks
        if len(exits) != 1:
            raise Unreadable(why)
        self.out.append(Opaque(why))
        for key in _written(frame, loop, values):
            del values[key]
        return exits.pop()

    def _turn_by_turn(self, frame: Frame, loop: Loop, values: Values) -> int:
        """A loop whose every test is decided by numbers, such as one that halves a stride. Raises
        Unreadable where one is not."""
        exits = frozenset(
            {s for b in loop.blocks for s in frame.blocks[b].successors} - loop.blocks
        )
        frame.turns.append(Turn(loop, self.depth, single=True))
        for _ in range(MAX_TURNS):
            self.unrolled += 1
            at = self._block(frame, loop.header, values, exits | {loop.header})
            if at is not None and at not in exits and at != loop.header:
                at = self._run(frame, at, values, exits | {loop.header})
            if at is None or self.unrolled > MAX_UNROLLED:
                break
            if at in exits:
                frame.turns.pop()
                return at
        raise Unreadable("a loop with too many iterations to be followed one by one")

    def _turned(
        self,
        frame: Frame,
        loop: Loop,
        values: Values,
        before: tuple[str, Mapping[str, Expr]] | None = None,
    ) -> tuple[Turn, Kept, str]:
        """Execute one iteration. Of each key the name that stands for it, first and next value.
        `before`: the index, and values by key that it says."""
        self.loops += before is None
        index, known = before or (f"k{self.loops}", {})
        self.out = list[Statement]()
        mine, named = dict(values), dict[str, str]()
        for key in _written(frame, loop, values):
            if key in known:
                mine[key] = as_pointer(values[key], known[key])
                continue
            if _is_reference(key, values[key]):
                continue
            self.names += 1
            named[key] = f"~{self.names}"
            mine[key] = like(values[key], named[key])
        turn = Turn(loop, self.depth)
        frame.turns.append(turn)
        after = self._block(frame, loop.header, mine, frozenset({loop.header}))
        if after is None or self._run(frame, after, mine, frozenset({loop.header})) is None:
            raise Unreadable("a loop that is left in the middle")
        frame.turns.pop()
        if turn.stay is None:
            raise Unreadable("a loop without an end")
        if turn.before and not turn.last:
            raise Unreadable("a loop that works before it tests whether to go on")
        if any(mine.get(k) != v for k, v in values.items() if _is_reference(k, v)):
            raise Unreadable("a variable that refers now to one variable, now to another")
        kept = [key for key in named if key in mine and same_kind(mine[key], values[key])]
        lost = {named[key] for key in named} - {named[key] for key in kept}
        used = names_of(tuple(self.out)) | names_in(turn.stay)
        if lost & used.union(*(names_in(mine[key]) for key in kept)):
            raise Unreadable("a variable that a loop leaves unknown and reads again")
        return turn, {key: (named[key], values[key], mine[key]) for key in kept}, index

    def _after(
        self,
        frame: Frame,
        loop: Loop,
        exits: Sequence[Exit],
        values: Values,
        stops: frozenset[int],
    ) -> int | None:
        """Go on from all exits of a loop to where they meet."""
        if len(exits) == 1:
            values.clear()
            values |= exits[0][2]
            return exits[0][1]
        join = frame.joins[loop.header]
        until = stops if join is None else stops | {join}
        out, made = self.out, list[tuple[int | None, Values, Body]]()
        self.depth += 1
        for _, to, there in exits:
            self.out, mine = list[Statement](), dict(there)
            made.append((self._run(frame, to, mine, until), mine, tuple(self.out)))
        self.depth -= 1
        self.out = out
        (end, found, body), *others = made
        for (condition, _, _), (other_end, there, more) in zip(
            exits[:0:-1], reversed(others), strict=True
        ):
            if other_end != end:
                raise Unreadable("a loop or block that is left in the middle")
            body = (_when(condition, more, body),) if more or body else ()
            both = Values()
            merge(condition, there, found, both)
            found = both
        out += body
        values.clear()
        values |= found
        return end


def _is_reference(key: str, value: Expr) -> bool:
    """Whether a piece of local memory holds the address of a variable, as closures do: it is taken
    to stay that, which is looked at afterwards."""
    here = isinstance(value, Pointer) and value.array.startswith(LOCAL)
    return here and key.startswith("@") and isinstance(bare(value), Number)


def _when(condition: Expr, yes: Body, no: Body) -> When:
    return When(condition, yes, no) if yes else When(negation(condition), no, ())


def _written(frame: Frame, loop: Loop, values: Values) -> list[str]:
    """The keys of values that a loop may change: its registers, and all local memory."""
    found = dict[str, None]()
    for block in sorted(loop.blocks):
        first, last, _ = frame.blocks[block]
        for each in frame.function.instructions[first:last]:
            found |= dict.fromkeys(frame.key(name) for name in registers_of(each))
    return [key for key in values if key in found or key.startswith("@")]
