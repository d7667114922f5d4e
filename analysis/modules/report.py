"""All that is told of a module as one value: for agents as JSON, for people by `told`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...runners.model import Record
from ...runners.modules.common.messages import (
    Attention,
    AttentionSite,
    Batches,
    BatchPoint,
    Break,
    Breaks,
    EagerTimes,
    ModuleRow,
    OpRow,
    OwnShapes,
    PhaseFailed,
    Roofs,
    RungMade,
    RungTimes,
    SubjectFacts,
    Trace,
)
from ...runners.modules.running import Found as Lines
from .costs.cost import CostModel
from .opportunities import Found, Opportunity, opportunities
from .rungs import RungRow, best_rung, rung_rows


class OperatorRow(Record):
    """Calls of one operator at one shape."""

    op: str
    shapes: str
    dtype: str
    calls: int
    us: float
    share: float
    """of the time of all operators"""
    roof_us: float
    of_roof: float
    bound: str
    """`compute` or `memory`"""
    alone: float
    """speedup of the whole call, were these at their roof (Amdahl)"""
    kernels: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


class ModuleShare(Record):
    """One module, all that is within it counted."""

    path: str
    class_name: str
    calls: int
    us: float
    share: float
    parameter_bytes: int
    peak_bytes: int
    kept_bytes: int


class ModuleReport(Record):
    """What a module does, what bounds it, what could be done, and what that gained."""

    subject: SubjectFacts
    eager: EagerTimes | None = None
    busy_ms: float | None = None
    """device time of all operators"""
    launches: int | None = None
    roofs: Roofs | None = None
    operators: tuple[OperatorRow, ...] = ()
    modules: tuple[ModuleShare, ...] = ()
    opportunities: tuple[Opportunity, ...] = ()
    attention: tuple[AttentionSite, ...] = ()
    attention_refused: tuple[str, ...] = ()
    graphs: int | None = None
    """of torch.compile"""
    breaks: tuple[Break, ...] = ()
    batches: tuple[BatchPoint, ...] = ()
    why_no_batches: str = ""
    ladder: tuple[RungRow, ...] = ()
    truth: str = ""
    """what outputs were compared with"""
    best: str | None = None
    """the rung that is fastest for sure and agrees; None: none is"""
    failed: tuple[PhaseFailed, ...] = ()
    """what could not be found out, and why"""
    lost: tuple[str, ...] = ()
    """how processes of the module ended that ended too early"""


def report_of(lines: Lines) -> ModuleReport:
    """Everything that lines of results say. They have a `SubjectFacts` (`run_job`)."""
    subject = lines.one(SubjectFacts)
    if subject is None:
        raise ValueError("no module was made")
    attention, breaks = lines.one(Attention), lines.one(Breaks)
    batches, times = lines.one(Batches), lines.one(RungTimes)
    cost = cost_model(lines)
    rungs = rung_rows(_latest(lines.all(RungMade)), times, cost)
    best = best_rung(rungs)
    eager = lines.one(EagerTimes)
    return ModuleReport(
        subject=subject,
        eager=eager,
        busy_ms=None if cost is None else cost.busy_us / 1e3,
        launches=None if cost is None else cost.launches,
        roofs=lines.one(Roofs),
        operators=() if cost is None else operator_rows(cost),
        modules=() if cost is None else module_rows(cost),
        opportunities=() if cost is None else opportunities(Found(cost, batches)),
        attention=() if attention is None else attention.found,
        attention_refused=() if attention is None else attention.refused,
        graphs=None if breaks is None else breaks.graphs,
        breaks=() if breaks is None else breaks.found,
        batches=() if batches is None else batches.points,
        why_no_batches="" if batches is None else batches.why_not,
        ladder=rungs,
        truth="" if times is None else times.truth,
        best=None if best is None else best.name,
        failed=lines.all(PhaseFailed),
        lost=lines.lost,
    )


def _latest(made: Sequence[RungMade]) -> list[RungMade]:
    """One for each rung: a process that was started anew makes some again."""
    return list({each.steps: each for each in made}.values())


def cost_model(lines: Lines) -> CostModel | None:
    """The model of cost; None where the call was not traced, or the roofs not measured."""
    eager, trace, roofs = lines.one(EagerTimes), lines.one(Trace), lines.one(Roofs)
    subject = lines.one(SubjectFacts)
    if eager is None or trace is None or roofs is None or subject is None:
        return None
    return CostModel(
        on_gpu=subject.device != "cpu",
        eager=eager,
        trace=trace,
        roofs=roofs,
        own=lines.one(OwnShapes) or OwnShapes(found=()),
        attention=lines.one(Attention) or Attention(found=()),
        breaks=lines.one(Breaks),
    )


def operator_rows(cost: CostModel) -> tuple[OperatorRow, ...]:
    """Operators by shape, those that take longest first."""
    groups = defaultdict[str, list[OpRow]](list)
    for op in cost.trace.ops:
        groups[op.key].append(op)
    rows = [_operator_row(cost, ops) for ops in groups.values()]
    return tuple(sorted(rows, key=lambda row: -row.us))


def _operator_row(cost: CostModel, ops: Sequence[OpRow]) -> OperatorRow:
    first, us = ops[0], sum(op.us for op in ops)
    roof = sum(cost.roof_us(op) for op in ops)
    return OperatorRow(
        op=first.op,
        shapes=first.shapes,
        dtype=first.dtype,
        calls=len(ops),
        us=us,
        share=us / max(cost.busy_us, 1e-9),
        roof_us=roof,
        of_roof=min(1.0, roof / us) if us else 1.0,
        bound=cost.bound_of(first),
        alone=cost.eager.ms / max(cost.without(max(0.0, us - roof)), 1e-9),
        kernels=tuple(dict.fromkeys(name for op in ops for name in op.kernels)),
        where=tuple(dict.fromkeys(op.line or op.module for op in ops))[:4],
    )


def module_rows(cost: CostModel) -> tuple[ModuleShare, ...]:
    """Modules in the order of their first call."""
    return tuple(_module_row(cost, row) for row in cost.trace.modules)


def _module_row(cost: CostModel, row: ModuleRow) -> ModuleShare:
    beneath = f"{row.path}." if row.path else ""
    us = sum(
        op.us
        for op in cost.trace.ops
        if not row.path or op.module == row.path or op.module.startswith(beneath)
    )
    return ModuleShare(
        path=row.path,
        class_name=row.class_name,
        calls=row.calls,
        us=us,
        share=us / max(cost.busy_us, 1e-9),
        parameter_bytes=row.parameter_bytes,
        peak_bytes=row.peak_bytes,
        kept_bytes=row.kept_bytes,
    )
