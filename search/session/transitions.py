"""What a search leaves for later ones: transitions, the kernel's memory, the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log2

from ...evaluation.evidence.evidence import Evidence
from ...runners.model import Comparison, Evaluation
from ...store.lessons import append_memory, append_spent, append_transition
from ...store.records import KernelRecord, VariantRecord, now
from ...store.store import Writer
from ..engine.work import Evaluate, Outcome
from ..graph.nodes import Node
from ..memory import Lesson, Recollection, change_key
from ..moves.shared.base import State
from ..regraph.transition import Transition, difference
from ..regraph.ways import way_of
from ..stored.variants import changed


@dataclass(frozen=True)
class StateBefore:
    """The state that a candidate was tried from."""

    record: VariantRecord
    node: Node
    state: State
    known: Evidence
    memory: Recollection


@dataclass(frozen=True)
class Came:
    """What is known of a candidate beside its outcome."""

    evaluation: Evaluation | None
    reward: float | None = None
    """the engine's"""
    touched: bool | None = None
    """whether it changed the region that the profile of its parent blames"""


def keep_step(
    writer: Writer,
    kernel: KernelRecord,
    search_id: str,
    work: Evaluate,
    before: StateBefore,
    outcome: Outcome,
    came: Came,
) -> Transition:
    """The transition for ReGraph, what the kernel's memory keeps, and what was spent. Returns the
    transition."""
    step = transition(kernel, search_id, work, before, outcome, came)
    append_transition(writer, step)
    if outcome.duplicate_of_known:
        return step
    candidate = work.candidate
    lesson = Lesson(
        kernel_id=kernel.kernel_id,
        search_id=search_id,
        parent=before.record.variant.variant_id,
        change=change_key(candidate, before.state),
        method=candidate.method,
        detail=candidate.detail,
        changed=changed(candidate),
        ending=outcome.ending,
        speedup=outcome.speedup,
        gain=step.gain,
        lesson=outcome.message.splitlines()[0] if outcome.message else "",
        variant_id=outcome.variant_id,
    )
    append_memory(writer, lesson)
    seconds = {} if came.evaluation is None else came.evaluation.seconds
    spent = {"search_id": search_id, "builds": outcome.builds}
    append_spent(writer, {**spent, "seconds": seconds if outcome.spent_build else {}})
    return step


def transition(
    kernel: KernelRecord,
    search_id: str,
    work: Evaluate,
    before: StateBefore,
    outcome: Outcome,
    came: Came,
) -> Transition:
    """One evaluated step, from the state before it to how it ended."""
    spec, parent = kernel.loaded.spec, before.record
    comparison = None if came.evaluation is None else came.evaluation.comparison
    gain, interval = _gain(before, outcome, comparison)
    return Transition(
        time=now(),
        kernel_id=kernel.kernel_id,
        arch=spec.device_profile.arch,
        language=spec.kernel.kernel_type,
        from_method=parent.method,
        to_method=work.candidate.method,
        way=way_of(work.candidate.detail),
        ending=outcome.ending,
        ms={} if comparison is None else comparison.median_ms,
        baseline_ms=_times(comparison, kernel.baseline) or kernel.baseline_ms,
        speedup=outcome.speedup,
        interval=outcome.interval,
        gain=gain,
        gain_interval=interval,
        reward=came.reward,
        bottleneck=before.known.bottleneck,
        rules=dict(before.known.rules),
        touches_hot_region=came.touched,
        search_id=search_id,
        edge_id=work.edge_id,
        parent=parent.variant.variant_id,
        variant_id=outcome.variant_id,
        repeated=outcome.variant_id in before.memory.reached,
        known_code=outcome.same_code_as is not None,
    )


def _gain(
    before: StateBefore, outcome: Outcome, comparison: Comparison | None
) -> tuple[float | None, tuple[float, float] | None]:
    """log2 over the parent: of a comparison with it where there is one, else of both with the
    baseline."""
    parent = before.record.variant.variant_id
    ratio = None if comparison is None else comparison.over(parent)
    if outcome.speedup is None:
        return None, None
    if ratio is not None and min(ratio.low, ratio.speedup) > 0 and isfinite(ratio.high):
        return log2(ratio.speedup), (log2(ratio.low), log2(ratio.high))
    if before.node.speedup is None:
        return None, None
    speedups = log2(outcome.speedup), outcome.interval, log2(before.node.speedup)
    return difference(*speedups, before.node.interval)


def _times(comparison: Comparison | None, variant_id: str) -> dict[str, float]:
    """Median milliseconds by workload; empty where it took no part."""
    if comparison is None:
        return {}
    times = {w.workload: w.median_ms.get(variant_id) for w in comparison.workloads}
    return {name: ms for name, ms in times.items() if ms is not None}
