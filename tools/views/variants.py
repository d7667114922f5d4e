"""What `inspect` shows of a variant, a function a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...store.evaluations import figure
from ..parts.describing import gates_in_short, interval_of, visible_kernels
from .view import JsonObject, Parts, View

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...store.records import VariantRecord


def _variant(bench: Bench, variant_id: str) -> View:
    record = bench.evaluator.variant(variant_id)
    evaluation = bench.evaluator.evaluation(variant_id)
    confirmation = bench.evaluator.confirmation(variant_id)
    variant, told = record.variant, figure(evaluation, confirmation)
    return {
        "kernel_id": variant.kernel_id,
        "parent": record.parent,
        "method": record.method,
        "detail": record.detail,
        "parameters": variant.parameters,
        "options": variant.options.model_dump(mode="json", exclude_none=True),
        "ending": None if evaluation is None else evaluation.ending,
        "message": None if evaluation is None else evaluation.message[:400],
        "speedup": told.speedup,
        "interval": interval_of(told),
        "speedup_in_the_search": told.searched,
        "gates": {} if evaluation is None else gates_in_short(evaluation.gates),
        "confirmed": None if confirmation is None else confirmation.message,
        "gates_of_the_winner": {}  # outcomes alone: what they say tells of held-out workloads
        if confirmation is None
        else {gate.gate: gate.outcome for gate in confirmation.gates},
        "source_lines": len(variant.source.splitlines()),
    }


def _variant_source(bench: Bench, variant_id: str) -> View:
    return bench.evaluator.variant(variant_id).variant.source


def _variant_diff(bench: Bench, variant_id: str) -> View:
    from ...evaluation.difference import changed_between, source_diff

    record = bench.evaluator.variant(variant_id)
    parent = record.parent or bench.evaluator.kernel(record.variant.kernel_id).baseline
    before = bench.evaluator.variant(parent).variant
    head = changed_between(before, record.variant) or "nothing"
    return f"# against {parent}: {head}\n" + source_diff(
        before.source, record.variant.source, "kernel"
    )


def _variant_build(bench: Bench, variant_id: str) -> View:
    from ...store.variants import known_artifact

    record = bench.evaluator.variant(variant_id)
    known = known_artifact(bench.store, variant_id)
    if known is not None:
        spec = bench.evaluator.kernel(record.variant.kernel_id).spec
        kernels = visible_kernels(known.facts.kernels, spec.workloads)
        facts = known.facts.model_copy(update={"kernels": kernels})
        code = {"code_hash": known.artifact.code_hash}
        return facts.model_dump(mode="json", exclude_none=True) | code
    evaluation = bench.evaluator.evaluation(variant_id)
    return "not built yet\n" if evaluation is None else evaluation.message + "\n"


def _variant_evaluation(bench: Bench, variant_id: str) -> View:
    bench.evaluator.variant(variant_id)
    evaluation = bench.evaluator.evaluation(variant_id)
    if evaluation is None:
        return {"message": "not evaluated yet: call time_variant"}
    facts = evaluation.model_dump(mode="json", exclude_none=True, exclude={"build"})
    for workload in facts.get("comparison", {}).get("workloads", ()):
        workload.pop("blocks_ms")
    return facts


def _variant_history(bench: Bench, variant_id: str) -> View:
    """From the variant back to the baseline."""
    steps = list[JsonObject]()
    record: VariantRecord | None = bench.evaluator.variant(variant_id)
    seen = set[str]()
    while record is not None and record.variant.variant_id not in seen:
        seen.add(record.variant.variant_id)
        evaluation = bench.evaluator.evaluation(record.variant.variant_id)
        steps.append(
            {
                "variant_id": record.variant.variant_id,
                "method": record.method,
                "detail": record.detail,
                "ending": None if evaluation is None else evaluation.ending,
                "speedup": None if evaluation is None else evaluation.speedup,
            }
        )
        record = None if record.parent is None else bench.evaluator.variant(record.parent)
    return steps


def _variant_brief(bench: Bench, variant_id: str) -> View:
    """What a planner is told of it, as Markdown."""
    from ..brief.assemble import brief_of

    return brief_of(bench, variant_id).markdown()


def _variant_brief_sections(bench: Bench, variant_id: str) -> View:
    """The same by section, with the estimated tokens of each."""
    from ..brief.assemble import brief_of

    return [each.model_dump(mode="json") for each in brief_of(bench, variant_id).sections]


VARIANT: Parts = {
    "summary": _variant,
    "source": _variant_source,
    "diff": _variant_diff,
    "build": _variant_build,
    "evaluation": _variant_evaluation,
    "history": _variant_history,
    "brief": _variant_brief,
    "brief_sections": _variant_brief_sections,
}
