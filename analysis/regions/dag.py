"""The Region-DAG of a kernel: what its PTX does, where, and what waits for what.

It is structure and work, never time: nothing here knows how long anything takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...runners.errors import SpecError
from ..ptx import Function, Instruction, Module, read_ptx
from ..ptx.effects import Phase
from .code import Code, code_of
from .divergence import Varies, divergence_of_branches, varying
from .edges import Edge, edges_of
from .forming import Formed, form
from .liveness import Live, live_registers
from .pipelines import Pipeline, pipelines_of
from .symbols import Slicer
from .trips import LoopReader
from .work import Work, total, work_of


@dataclass(frozen=True, slots=True)
class Region:
    """A run of instructions of one phase in one block, stage and loop level."""

    name: str
    """R1, R2 ... in dependency order"""
    phase: Phase
    stage: int
    """index of its stage"""
    loop: int | None
    """index of the innermost loop around it"""
    block: int
    instructions: tuple[int, ...]
    """indices into the function's instructions, in the order of the text"""
    work: Work
    """of one thread, one iteration"""


@dataclass(frozen=True, slots=True)
class Stage:
    """What lies between two points of strong synchronisation in one loop level."""

    name: str
    """S1, S2 ... in the order of the text"""
    loop: int | None
    after: tuple[str, ...]
    """the synchronisation that opens it: "bar.sync 0"; empty: a loop or the kernel begins"""
    regions: tuple[int, ...]
    work: Work


@dataclass(frozen=True, slots=True)
class LoopWork:
    """One loop with how often it runs and what an iteration does."""

    name: str
    parent: int | None
    depth: int
    first_line: int
    """of the PTX, and the last"""
    last_line: int
    trips: int | str | None
    """iterations of one entry: a number, an expression over parameters, None: not known"""
    irreducible: bool
    waits_only: bool
    """it asks an mbarrier until it is complete: no iteration of it counts as work"""
    work: Work
    """of one iteration, inner loops of known trips included, others left out"""

    @property
    def count(self) -> str:
        """The trips as text; a symbol where they are not known."""
        return f"n of {self.name}" if self.trips is None else str(self.trips)


@dataclass(frozen=True, slots=True)
class Branch:
    """A conditional branch."""

    line: int
    varies: Varies
    """why it may part the threads of a block"""


@dataclass(frozen=True, slots=True)
class RegionDag:
    """One kernel."""

    entry: str
    target: str
    function: Function
    regions: tuple[Region, ...]
    stages: tuple[Stage, ...]
    loops: tuple[LoopWork, ...]
    edges: tuple[Edge, ...]
    branches: tuple[Branch, ...]
    pipelines: tuple[Pipeline, ...]
    live: Live
    calls: tuple[str, ...]
    """functions that are called; what they do is not counted"""

    def instructions(self, region: Region) -> tuple[Instruction, ...]:
        """The instructions of a region."""
        return tuple(self.function.instructions[each] for each in region.instructions)

    def around(self, loop: int | None) -> tuple[LoopWork, ...]:
        """A loop and those around it, the outermost first."""
        found = list[LoopWork]()
        while loop is not None:
            found.append(self.loops[loop])
            loop = self.loops[loop].parent
        return tuple(reversed(found))

    def times(self, loop: int | None) -> tuple[int, tuple[str, ...]]:
        """How often what lies in a loop is executed: a number times symbols, the outermost first;
        each symbol is a number that the PTX does not tell."""
        number, symbols = 1, list[str]()
        for each in self.around(loop):
            if isinstance(each.trips, int):
                number *= each.trips
            else:
                symbols.append(each.count)
        return number, tuple(symbols)


def region_dag(ptx_text: str, entry: str | None = None) -> RegionDag:
    """The Region-DAG of an entry of a PTX text; None: of the only one.

    Raises SpecError for a text that is no whole PTX module, and for an entry that it lacks.
    """
    return region_dag_of(read_ptx(ptx_text), entry)


def region_dag_of(module: Module, entry: str | None = None) -> RegionDag:
    """The same for a text that was read. Raises SpecError."""
    function = _entry(module, entry)
    code = code_of(function)
    formed = form(code)
    regions = _regions(code, formed)
    varies = divergence_of_branches(code, varying(code))
    instructions = function.instructions
    return RegionDag(
        entry=function.name,
        target=module.target,
        function=function,
        regions=regions,
        stages=_stages(code, formed, regions),
        loops=_loops(code, regions),
        edges=edges_of(code, formed),
        branches=tuple(Branch(instructions[at].line, why) for at, why in varies.items()),
        pipelines=pipelines_of(code),
        live=live_registers(code),
        calls=_calls(code),
    )


def _entry(module: Module, entry: str | None) -> Function:
    found = [each for each in module.entries if entry is None or each.name == entry]
    if len(found) == 1:
        return found[0]
    names = ", ".join(each.name for each in module.entries) or "none"
    if entry is None:
        raise SpecError(
            f"the PTX has {len(module.entries)} entries",
            valid=f"entry: one of {names}",
            next_step="name the entry of the kernel",
        )
    raise SpecError(
        f"the PTX has no entry {entry!r}", valid=f"entry: one of {names}", next_step="name one"
    )


def _regions(code: Code, formed: Formed) -> tuple[Region, ...]:
    slicer = Slicer(code)
    return tuple(
        Region(
            name=f"R{number}",
            phase=run.phase,
            stage=run.stage,
            loop=code.loop_of[run.block],
            block=run.block,
            instructions=tuple(run.instructions),
            work=work_of(code, run.instructions, slicer),
        )
        for number, run in enumerate(formed.runs, 1)
    )


def _stages(code: Code, formed: Formed, regions: Sequence[Region]) -> tuple[Stage, ...]:
    members: list[list[int]] = [[] for _ in formed.stage_loops]
    for number, region in enumerate(regions):
        members[region.stage].append(number)
    return tuple(
        Stage(
            name=f"S{number + 1}",
            loop=formed.stage_loops[number],
            after=_opens(code, [regions[each] for each in found]),
            regions=tuple(found),
            work=total((regions[each].work, 1) for each in found),
        )
        for number, found in enumerate(members)
    )


def _opens(code: Code, regions: Sequence[Region]) -> tuple[str, ...]:
    """The strong synchronisation of a stage, which stands at its beginning."""
    return tuple(
        f"{instruction.opcode} {instruction.operands}".strip()
        for region in regions
        if region.phase is Phase.sync
        for each in region.instructions
        if code.effects[each].row.waits
        for instruction in (code.function.instructions[each],)
    )


def _loops(code: Code, regions: Sequence[Region]) -> tuple[LoopWork, ...]:
    reader = LoopReader(code)
    trips = [None if n in code.spins else reader.trips(loop) for n, loop in enumerate(code.loops)]
    own: list[list[tuple[Work, int]]] = [[] for _ in code.loops]
    for region in regions:
        if region.loop is not None:
            own[region.loop].append((region.work, 1))
    works: list[Work] = [Work() for _ in code.loops]
    for number in sorted(range(len(code.loops)), key=lambda n: -code.loops[n].depth):
        works[number] = total(own[number])
        parent, count = code.loops[number].parent, trips[number]
        if parent is not None and isinstance(count, int):
            own[parent].append((works[number], count))
    instructions = code.function.instructions
    return tuple(
        LoopWork(
            name=loop.name,
            parent=loop.parent,
            depth=loop.depth,
            first_line=instructions[min(code.blocks[b].first for b in loop.blocks)].line,
            last_line=instructions[max(code.blocks[b].last for b in loop.blocks) - 1].line,
            trips=trips[number],
            irreducible=loop.irreducible,
            waits_only=number in code.spins,
            work=works[number],
        )
        for number, loop in enumerate(code.loops)
    )


def _calls(code: Code) -> tuple[str, ...]:
    names = list[str]()
    for instruction, does in zip(code.function.instructions, code.effects, strict=True):
        if does.phase is Phase.call:
            parts = [each.strip() for each in instruction.operands.split(",")]
            named = [each for each in parts if not each.startswith("(") and ")" not in each]
            names.append(named[0] if named else instruction.operands)
    return tuple(dict.fromkeys(names))
