"""What is told of one Region-DAG: the kernel on a page, a stage, a region."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from ...runners.errors import SpecError
from ...runners.wording import number_ranges
from ..ptx import Instruction
from .conditions import where_regions_run
from .dag import LoopWork, Region, RegionDag, Stage
from .divergence import Varies
from .heat import executed, hottest
from .pipelines import Pipeline
from .records import Counts, EdgeRow, LoopRow, Overview, PartRow, RegionView, StageView
from .work import Work, total

STAGES, REGIONS, LOOPS = 4, 6, 8
"""rows of an overview"""
STAGE_ROWS, EDGES, SNIPPET_LINES = 12, 8, 40
MAX_LINE = 110
"""characters of a line of PTX in a snippet: the operands of a wgmma alone may take thousands"""
_LONG = re.compile(r"\{[^{}]{60,}\}")


def counts(work: Work) -> Counts:
    """Work as a small mapping, what is zero left out."""
    found: Counts = {"instructions": work.instructions}
    widths = dict[str, list[str]]()
    for each, number in sorted(work.accesses.items()):
        name = f"{each.space} {each.direction}"
        widths.setdefault(name, []).append(f"{number} x {each.width} B")
    found |= {name: " + ".join(each) for name, each in widths.items()}
    for kind, flops in sorted(work.flops.items()):
        found["special functions" if kind == "special" else f"{kind} FLOPs"] = flops
    if work.unsized:
        found["bulk copies of unknown size"] = work.unsized
    return found


def overview(dag: RegionDag) -> Overview:
    """The kernel on one page."""
    code = dag.function
    outside = [
        (region.work, executed(dag, region.loop)[1])
        for region in dag.regions
        if not dag.times(region.loop)[1]
    ]
    stages = hottest(dag, [(stage.loop, stage.work) for stage in dag.stages])
    regions = hottest(dag, [(region.loop, region.work) for region in dag.regions])
    loops = [each for each in dag.loops if not each.waits_only]
    shared = [v.length or 0 for v in code.variables if v.space == "shared"]
    return Overview(
        entry=dag.entry,
        target=dag.target,
        threads=code.threads,
        instructions=len(code.instructions),
        regions=len(dag.regions),
        stages=len(dag.stages),
        once=counts(total(outside)),
        loops=tuple(_loop_row(dag, each) for each in loops[:LOOPS]),
        hottest_stages=tuple(_stage_row(dag, dag.stages[n], of) for n, of in stages[:STAGES]),
        hottest_regions=tuple(_region_row(dag, dag.regions[n], of) for n, of in regions[:REGIONS]),
        shared_bytes=sum(shared),
        live_registers=_live(dag),
        pipelines=tuple(_pipeline(dag, each) for each in dag.pipelines),
        branches=_branches(dag),
        notes=tuple(_notes(dag, len(loops))),
    )


def stage(dag: RegionDag, name: str, offset: int = 0) -> StageView:
    """One stage; `offset`: so many of its regions with most work are left out. Raises SpecError for
    a name that no stage has."""
    number = _index(name, "S", len(dag.stages), "stage")
    found = dag.stages[number]
    ranks = hottest(dag, [(each.loop, each.work) for each in dag.stages])
    regions = hottest(dag, [(each.loop, each.work) for each in dag.regions])
    inside = {each: share for each, share in regions if each in set(found.regions)}
    ranked = list(inside)[offset:]
    shown = sorted(ranked[:STAGE_ROWS])
    return StageView(
        entry=dag.entry,
        stage=_stage_row(dag, found, dict(ranks)[number]),
        opened_by=found.after,
        regions=tuple(_region_row(dag, dag.regions[each], inside[each]) for each in shown),
        left_out=len(ranked) - len(shown),
    )


def region(dag: RegionDag, name: str, offset: int = 0) -> RegionView:
    """One region with its PTX, from its instruction `offset` on. Raises SpecError for a name that
    no region has."""
    number = _index(name, "R", len(dag.regions), "region")
    found = dag.regions[number]
    ranks = hottest(dag, [(each.loop, each.work) for each in dag.regions])
    needs = [
        EdgeRow(region=dag.regions[e.source].name, kind=_edge_kind(e.kind, e.carried), what=e.what)
        for e in dag.edges
        if e.target == number
    ]
    needed = [
        EdgeRow(region=dag.regions[e.target].name, kind=_edge_kind(e.kind, e.carried), what=e.what)
        for e in dag.edges
        if e.source == number
    ]
    code = dag.instructions(found)
    shown = code[offset:]
    return RegionView(
        entry=dag.entry,
        region=_region_row(dag, found, dict(ranks)[number]),
        needs=tuple(needs[:EDGES]),
        needed_by=tuple(needed[:EDGES]),
        edges_left_out=max(len(needs) - EDGES, 0) + max(len(needed) - EDGES, 0),
        runs_where=_runs_where(dag, number),
        guarded=found.work.guarded,
        source_lines=_source_lines(code),
        ptx="\n".join(_line(each) for each in shown[:SNIPPET_LINES]),
        lines_left_out=max(len(shown) - SNIPPET_LINES, 0),
    )


def _runs_where(dag: RegionDag, number: int) -> tuple[str, ...] | None:
    where = where_regions_run(dag)[number]
    undecided = (f"as the branch at line {line} decides" for line in where.undecided)
    return (*where.holds, *undecided) or None


def _index(name: str, letter: str, count: int, what: str) -> int:
    number = name[1:]
    if name[:1] == letter and number.isdecimal() and 1 <= int(number) <= count:
        return int(number) - 1
    raise SpecError(
        f"no {what} {name!r}",
        valid=f"{letter}1 to {letter}{count}" if count else "none: the kernel is empty",
        next_step="take a name of the overview",
    )


def _edge_kind(kind: str, carried: bool) -> str:
    return f"{kind}, next iteration" if carried else kind


def _line(instruction: Instruction) -> str:
    text = _LONG.sub(_shortened, instruction.text)
    return f"{instruction.line}: {text if len(text) <= MAX_LINE else text[: MAX_LINE - 3] + '...'}"


def _shortened(vector: re.Match[str]) -> str:
    return f"{vector[0].partition(',')[0]}, ...}}"


def _stage_row(dag: RegionDag, found: Stage, share: dict[str, float]) -> PartRow:
    opened = dict.fromkeys(each.partition(" ")[0] for each in found.after)
    begins = "a loop begins" if found.loop is not None else "a loop ends"
    begins = "the kernel begins" if found.name == "S1" else begins
    instructions = [each for n in found.regions for each in dag.instructions(dag.regions[n])]
    return PartRow(
        name=found.name,
        what="after " + ", ".join(opened) if opened else begins,
        loop=_loop_name(dag, found.loop),
        times=_times(dag, found.loop),
        work=counts(found.work),
        share=_share(share),
        source=source_of(instructions),
    )


def _region_row(dag: RegionDag, found: Region, share: dict[str, float]) -> PartRow:
    return PartRow(
        name=found.name,
        what=found.phase.value,
        stage=dag.stages[found.stage].name,
        loop=_loop_name(dag, found.loop),
        times=_times(dag, found.loop),
        work=counts(found.work),
        share=_share(share),
        source=source_of(dag.instructions(found)),
    )


def _loop_row(dag: RegionDag, found: LoopWork) -> LoopRow:
    irreducible = "entered past its header: iterations are uncertain"
    return LoopRow(
        name=found.name,
        inside=_loop_name(dag, found.parent),
        trips=found.count if not isinstance(found.trips, int) else found.trips,
        ptx_lines=f"{found.first_line}-{found.last_line}",
        per_iteration=counts(found.work),
        note=irreducible if found.irreducible else None,
    )


def _loop_name(dag: RegionDag, loop: int | None) -> str | None:
    return None if loop is None else dag.loops[loop].name


def _times(dag: RegionDag, loop: int | None) -> str:
    number, symbols = dag.times(loop)
    factors = [str(number)] if number != 1 or not symbols else []
    return " x ".join([*factors, *symbols])


def _share(share: dict[str, float]) -> str:
    """The three largest shares that a reader would care about; instructions where nothing else."""
    found = sorted(
        ((value, name) for name, value in share.items() if name != "instructions"), reverse=True
    )[:3]
    told = [f"{100 * value:.0f} % of {name}" for value, name in found if value >= 0.005]
    if not told and "instructions" in share:
        told = [f"{100 * share['instructions']:.0f} % of instructions"]
    return ", ".join(told)


def source_of(instructions: Iterable[Instruction]) -> str:
    """The lines of the kernel's own file: "matmul.py:34-36, 40"."""
    lines = dict[str, set[int]]()
    for each in instructions:
        if each.place:
            lines.setdefault(each.place[-1].file, set()).add(each.place[-1].line)
    told = [f"{PurePosixPath(file).name}:{number_ranges(found)}" for file, found in lines.items()]
    return "; ".join(told[:2])


def _source_lines(instructions: Sequence[Instruction]) -> dict[str, str]:
    lines = dict[str, set[int]]()
    for each in instructions:
        for frame in (*each.place[:1], *each.place[-1:]):
            lines.setdefault(PurePosixPath(frame.file).name, set()).add(frame.line)
    return {file: number_ranges(found) for file, found in list(lines.items())[:4]}


def _live(dag: RegionDag) -> str:
    types = ", ".join(f"{n} {type_}" for type_, n in sorted(dag.live.by_type.items()))
    return f"{dag.live.words} words at line {dag.live.line} of the PTX ({types})"


def _pipeline(dag: RegionDag, found: Pipeline) -> str:
    loop = dag.loops[found.loop].name
    if found.left is None:
        return f"{loop}: {found.commits} bulk copies an iteration, {found.barriers} mbarriers"
    return (
        f"{loop}: {found.kind} leaves {found.left} groups running, {found.commits} an iteration: "
        f"{found.ahead} iterations under way"
    )


def _branches(dag: RegionDag) -> str:
    reasons = {Varies.thread: "on the thread", Varies.data: "on loaded data"}
    told = [f"{sum(not each.varies for each in dag.branches)} uniform"]
    for why, text in reasons.items():
        lines = [each.line for each in dag.branches if why in each.varies]
        if lines:
            shown = ", ".join(map(str, lines[:6])) + (", ..." if len(lines) > 6 else "")
            told.append(f"{len(lines)} depend {text} (PTX lines {shown})")
    return "; ".join(told)


def _notes(dag: RegionDag, loops: int) -> Iterable[str]:
    if dag.calls:
        yield f"what these functions do is not counted: {', '.join(dag.calls[:5])}"
    if any(region.work.unsized for region in dag.regions):
        yield "the size of some bulk copies stands in a tensor map: their bytes are not counted"
    if any("bulk" in each.direction for r in dag.regions for each in r.work.accesses):
        yield "a bulk copy counts for the one thread that issues it, for its whole block"
    if any(region.work.bytes("generic") for region in dag.regions):
        yield "generic accesses may go to global, shared or local memory"
    if any(region.work.guarded for region in dag.regions):
        yield "work under predicates and branches is counted as if every thread did it"
    if loops > LOOPS:
        yield f"{loops - LOOPS} more loops"
