"""What of a variant and its evaluation is written down, within one transaction of the store."""

from __future__ import annotations

from ..runners.model import Evaluation
from ..runners.toolchains import BuildOutcome
from ..store.evaluations import put_evaluation
from ..store.kernels import set_incumbent
from ..store.records import ArtifactRecord, VariantRecord
from ..store.variants import put_artifact, remember
from ..store.writer import Writer
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
    put_evaluation(writer, evaluation)
    if evaluation.became_incumbent:
        set_incumbent(writer, kernel_id, variant_id)


def keep_build(writer: Writer, variant_id: str, outcome: BuildOutcome) -> None:
    """Keep what a build made, and what it said of it."""
    if outcome.artifact is not None and outcome.facts is not None:
        record = ArtifactRecord(artifact=outcome.artifact, facts=outcome.facts)
        put_artifact(writer, variant_id, record)
