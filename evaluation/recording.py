"""What of a variant and its evaluation is written down, within one transaction of the store."""

from __future__ import annotations

from collections.abc import Sequence

from ..runners.model import Evaluation
from ..runners.plans.plan import Module
from ..runners.toolchains import BuildOutcome
from ..store.records import ArtifactRecord, VariantRecord
from ..store.store import JsonObject, Writer
from .attempt import Attempt


def write_evaluation(
    writer: Writer, record: VariantRecord, attempt: Attempt, evaluation: Evaluation | None
) -> None:
    """Variant, build, evaluation, code hash and incumbent."""
    kernel_id, variant_id = record.variant.kernel_id, record.variant.variant_id
    remember(writer, record)
    keep_build(writer, variant_id, BuildOutcome(artifact=attempt.artifact, facts=attempt.facts))
    if evaluation is None:
        return
    writer.put_record("evaluations", evaluation.evaluation_id, evaluation)
    code, first_of_code = evaluation.code_hash, evaluation.same_code_as is None
    if code is not None and first_of_code and evaluation.ending.final:
        writer.put("meta", f"code/{kernel_id}/{code}", {"variant_id": variant_id})
    if evaluation.became_incumbent:
        writer.update(
            "kernels", kernel_id, lambda kernel: {**(kernel or {}), "incumbent": variant_id}
        )


def remember(writer: Writer, record: VariantRecord) -> None:
    """Keep a variant; the first way that led to it stays."""
    if writer.get("variants", record.variant.variant_id) is None:
        writer.put_record("variants", record.variant.variant_id, record)


def keep_build(writer: Writer, variant_id: str, outcome: BuildOutcome) -> None:
    """Keep what a build made, and what it said of it."""
    if outcome.artifact is not None and outcome.facts is not None:
        record = ArtifactRecord(artifact=outcome.artifact, facts=outcome.facts)
        writer.put_record("artifacts", variant_id, record)


def keep_listings(writer: Writer, variant_id: str, listings: Sequence[Module]) -> None:
    """Add listings to what is kept of a build."""

    def with_listings(known: JsonObject | None) -> JsonObject:
        record = ArtifactRecord.model_validate(known)
        modules = dict.fromkeys((*record.artifact.modules, *listings))
        artifact = record.artifact.model_copy(update={"modules": tuple(modules)})
        return record.model_copy(update={"artifact": artifact}).model_dump(mode="json")

    if listings:
        writer.update("artifacts", variant_id, with_listings)
