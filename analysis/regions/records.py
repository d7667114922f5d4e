"""What is told of a Region-DAG: small records, for people and models."""

from __future__ import annotations

from ...runners.model import Record

Counts = dict[str, int | str]
"""Work of one thread, what is zero left out: {"instructions": 64, "global load": "4 x 16 B",
"tensor.f16.m64n64k16 FLOPs": 2048, "special functions": 4}. FLOPs of tensor cores are a thread's
share of its warp's or warpgroup's."""


class LoopRow(Record):
    """One loop."""

    name: str
    inside: str | None = None
    """the loop around it"""
    trips: int | str
    """iterations of one entry; paramN is the N-th parameter of the kernel, from 0; "n of L1" where
    the PTX does not tell"""
    ptx_lines: str
    per_iteration: Counts
    """inner loops of known trips included"""
    note: str | None = None


class PartRow(Record):
    """A stage or a region."""

    name: str
    what: str
    """the phase of a region; the synchronisation that opens a stage"""
    stage: str | None = None
    loop: str | None = None
    times: str
    """executions: "1", "4 x (param5 + 31) / 32" """
    work: Counts
    """of one execution"""
    share: str
    """of what is executed equally often: "100 % of tensor FLOPs" """
    source: str
    """lines that the code comes from, as the kernel's author wrote them"""


class Overview(Record):
    """A kernel on one page: most work first, never time."""

    entry: str
    target: str
    threads: int | None = None
    """of a CTA, where the PTX fixes them"""
    instructions: int
    regions: int
    stages: int
    once: Counts
    """what is outside of loops of unknown trips, loops of known ones multiplied"""
    loops: tuple[LoopRow, ...]
    hottest_stages: tuple[PartRow, ...]
    hottest_regions: tuple[PartRow, ...]
    shared_bytes: int
    """declared in the PTX; what the launch adds is not in it"""
    live_registers: str
    pipelines: tuple[str, ...]
    branches: str
    notes: tuple[str, ...]
    """what the numbers leave out"""


class EdgeRow(Record):
    """What a region needs, or what needs it."""

    region: str
    kind: str
    """data, control, sync, async; "next iteration" behind it: round a loop"""
    what: str


class StageView(Record):
    """One stage with its regions in dependency order."""

    entry: str
    stage: PartRow
    opened_by: tuple[str, ...]
    regions: tuple[PartRow, ...]
    left_out: int
    """regions with less work than those listed"""


class RegionView(Record):
    """One region with its code."""

    entry: str
    region: PartRow
    needs: tuple[EdgeRow, ...]
    needed_by: tuple[EdgeRow, ...]
    edges_left_out: int
    runs_where: tuple[str, ...] | None = None
    """conditions on threads, parameters and iterations under which it runs; None: always. Branches
    of which a launch says nothing are named by their line of the PTX text"""
    guarded: int
    """accesses and FLOP instructions under a predicate: not every thread does them"""
    source_lines: dict[str, str]
    """line numbers by file (without folders: they say where a build was), the line of every inlined
    call's kernel included"""
    ptx: str
    """its instructions, each behind its line of the PTX text"""
    lines_left_out: int


class Change(Record):
    """A kind of region in two variants."""

    phase: str
    depth: int
    """loops around it"""
    before: str | None = None
    """the region in the first variant; None: it has none"""
    after: str | None = None
    work_before: Counts | None = None
    work_after: Counts | None = None


class Difference(Record):
    """How the work of two variants differs."""

    before: str
    after: str
    same: int
    """regions with the same work at the same depth in both"""
    changed: tuple[Change, ...]
    appeared: tuple[Change, ...]
    vanished: tuple[Change, ...]
    left_out: int
    """changes with less work than those listed"""
    totals: dict[str, str]
    """by depth of loops and resource: "depth 1: shared bytes": "64 -> 128"; per thread and
    iteration, what is the same left out"""
    live_registers: str
    loops: str
    """names and trips of both where they differ"""
