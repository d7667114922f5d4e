"""What was tried outside of searches, kept where searches of the kernel look for it."""

from __future__ import annotations

from math import log2

from ...evaluation.bench import Bench
from ...runners.model import Candidate, Evaluation, Variant
from ...store.lessons import append_memory
from ...store.records import VariantRecord
from ..memory import Lesson, change_key
from ..stored.variants import changed, state_of


def remember_by_hand(bench: Bench, record: VariantRecord, evaluation: Evaluation) -> None:
    """Keep an evaluation that no search asked for in the kernel's memory, so that a search knows
    of it. To be called once for each: when it was made."""
    if record.parent in (None, record.variant.variant_id):
        return
    kernel = bench.evaluator.kernel(record.variant.kernel_id)
    parent = bench.evaluator.variant(record.parent).variant
    candidate = _candidate(parent, record)
    lesson = Lesson(
        kernel_id=kernel.kernel_id,
        parent=record.parent,
        change=change_key(candidate, state_of(kernel, parent)),
        method=record.method,
        detail=record.detail,
        changed=changed(candidate),
        ending=evaluation.ending,
        speedup=evaluation.speedup,
        gain=_gain(bench, record.parent, evaluation),
        lesson=evaluation.message.splitlines()[0] if evaluation.message else "",
        variant_id=record.variant.variant_id,
    )
    with bench.store.transaction() as writer:
        append_memory(writer, lesson)


def _candidate(parent: Variant, record: VariantRecord) -> Candidate:
    """What makes the variant of its parent, with nothing that stays as it was."""
    variant = record.variant
    values = {n: v for n, v in variant.parameters.items() if parent.parameters.get(n) != v}
    parts: dict[str, object] = {
        "source": variant.source if variant.source != parent.source else None,
        "plan": variant.plan if variant.plan != parent.plan else None,
        "options": variant.options if variant.options != parent.options else None,
        "parameters": values or None,
    }
    whole = parts | {"method": record.method, "detail": record.detail}
    return Candidate.model_construct(None, **whole)


def _gain(bench: Bench, parent: str, evaluation: Evaluation) -> float | None:
    """log2 over the parent: of their own comparison, else of both with the baseline."""
    if evaluation.speedup is None:
        return None
    direct = None if evaluation.comparison is None else evaluation.comparison.over(parent)
    if direct is not None and direct.speedup > 0:
        return log2(direct.speedup)
    before = bench.evaluator.evaluation(parent)
    if before is None or before.speedup is None:
        return None
    return log2(evaluation.speedup / before.speedup)
