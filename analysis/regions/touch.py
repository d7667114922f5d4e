"""Whether a candidate touched a region: its instructions, how often they run, the addresses they
go to, or what they wait for.

Regions of two kernels are compared by what their instructions are, whatever the registers are
called and in whatever order they stand. Where a kernel has several that are the same, as many of
them must be in the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

from ..ptx import Instruction
from ..ptx.effects import Phase
from ..ptx.operands import name_in_scope
from ..spans.code import lines_of
from .code import Code, code_of
from .dag import Region, RegionDag

MEMORY = frozenset(
    {Phase.global_load, Phase.shared, Phase.local, Phase.async_copy, Phase.atomic, Phase.exchange}
)
"""phases for whose results warps wait long"""
_NAME = re.compile(r"[%A-Za-z_$][\w$]*")
_LOOP = re.compile(r"\bL\d+\b")


@dataclass(frozen=True, slots=True)
class Touch:
    """Whether a region was touched."""

    touched: bool
    why: str
    """what is other, or that nothing is"""


def touch(before: RegionDag, region: int, after: RegionDag) -> Touch:
    """Whether `after` differs from `before` at a region of `before`, given by its index."""
    old, new = _Shapes(before), _Shapes(after)
    levels: tuple[tuple[Callable[[_Shapes, int], Hashable], str], ...] = (
        (_Shapes.own, "its instructions are others"),
        (_Shapes.times, "the same instructions run another number of times"),
        (_Shapes.addresses, "the same instructions, but other code computes what they are given"),
        (_Shapes.feeds, f"what it waits for is another: {_names(before, old.fed_by(region))}"),
    )
    same, others = range(len(before.regions)), range(len(after.regions))
    for of, why in levels:
        wanted = of(old, region)
        same = [each for each in same if of(old, each) == wanted]
        others = [each for each in others if of(new, each) == wanted]
        if len(others) < len(same):
            several = f", in one of {len(same)} regions that were the same" if len(same) > 1 else ""
            return Touch(touched=True, why=why + several)
    return Touch(
        touched=False, why="its instructions, how often they run and what feeds them are the same"
    )


def lines_behind(dag: RegionDag, region: int, source: str) -> frozenset[int]:
    """The lines of a source file that a region and what it waits for come from, counted from 1;
    `source`: the file's name, or the end of its path."""
    behind = (region, *_Shapes(dag).fed_by(region))
    places = (
        dag.function.instructions[index].place
        for each in behind
        for index in dag.regions[each].instructions
    )
    return frozenset(line for place in places for line in lines_of(place, source))


class _Shapes:
    """What the regions of one kernel are, names of registers aside."""

    def __init__(self, dag: RegionDag) -> None:
        self._dag = dag
        self._parameters = {p.name: f"param{n}" for n, p in enumerate(dag.function.parameters)}

    @cached_property
    def _code(self) -> Code:
        return code_of(self._dag.function)

    def own(self, region: int) -> Hashable:
        """Phase and instructions."""
        found = self._dag.regions[region]
        return found.phase, self._counted(found.instructions)

    def times(self, region: int) -> Hashable:
        """How often it is executed; loops of unknown trips by their number alone."""
        number, symbols = self._dag.times(self._dag.regions[region].loop)
        return number, tuple(_LOOP.sub("L", symbol) for symbol in symbols)

    def addresses(self, region: int) -> Hashable:
        """The kinds of integer code that its operands come from, back to memory or parameters. How
        many of each there are changes with other uses of the same values, and says nothing."""
        found = self._slice(self._dag.regions[region])
        return frozenset(self._shape(self._dag.function.instructions[each]) for each in found)

    def feeds(self, region: int) -> Hashable:
        """The regions that it waits for: instructions, times, addresses."""
        kinds = ((self.own(n), self.times(n), self.addresses(n)) for n in self.fed_by(region))
        return frozenset(Counter(kinds).items())

    def fed_by(self, region: int) -> list[int]:
        """The regions whose results it waits for; of a barrier, all that comes before it."""
        waits = self._dag.regions[region].phase is Phase.sync
        sources = {
            edge.source
            for edge in self._dag.edges
            if edge.target == region
            and edge.source != region
            and edge.kind != "control"
            and (waits or self._dag.regions[edge.source].phase in MEMORY)
        }
        return sorted(sources)

    def _slice(self, region: Region) -> Iterable[int]:
        code, seen = self._code, set[int]()
        waiting = list(region.instructions)
        while waiting:
            for register in code.read[waiting.pop()]:
                for index in code.definitions.get(register, ()):
                    if index not in seen and code.effects[index].phase is Phase.address:
                        seen.add(index)
                        waiting.append(index)
        return seen.difference(region.instructions)

    def _counted(self, indices: Iterable[int]) -> Hashable:
        instructions = self._dag.function.instructions
        return frozenset(Counter(self._shape(instructions[each]) for each in indices).items())

    def _shape(self, instruction: Instruction) -> str:
        """`@% ld.shared.f32 %, [%+132]`: registers and labels without their names."""

        def plain(name: re.Match[str]) -> str:
            text = name_in_scope(instruction, name[0])
            if text in self._code.definitions:
                return "%"
            return (
                "label" if text in self._dag.function.labels else self._parameters.get(text, text)
            )

        guard = ("@!% " if instruction.negated else "@% ") if instruction.guard else ""
        return f"{guard}{instruction.opcode} {_NAME.sub(plain, instruction.operands)}"


def _names(dag: RegionDag, regions: Iterable[int]) -> str:
    return ", ".join(f"{dag.regions[n].name} {dag.regions[n].phase.value}" for n in regions)
