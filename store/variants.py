"""Variants as the store has them, and what was built of each."""

from __future__ import annotations

from collections.abc import Sequence

from ..runners.plans.plan import Module
from .codec import JsonObject
from .records import ArtifactRecord, VariantRecord
from .store import Store
from .writer import Writer

TABLE = "variants"
ARTIFACTS = "artifacts"


def variant_record(store: Store, variant_id: str) -> VariantRecord:
    """A variant. Raises HandleUnknown."""
    return store.require_record(TABLE, variant_id, VariantRecord)


def is_variant(store: Store, variant_id: str) -> bool:
    """Whether it was ever built or evaluated."""
    return store.get(TABLE, variant_id) is not None


def variants_by_id(store: Store, kernel_id: str) -> dict[str, VariantRecord]:
    """The variants of a kernel, in order of their ids."""
    return {
        variant_id: VariantRecord.model_validate(row)
        for variant_id, row in store.items(TABLE)
        if row["variant"]["kernel_id"] == kernel_id
    }


def variants_by_age(store: Store, kernel_id: str) -> list[VariantRecord]:
    """The variants of a kernel, the oldest first."""
    rows = store.table(TABLE).values()
    return [
        VariantRecord.model_validate(row)
        for row in rows
        if row["variant"]["kernel_id"] == kernel_id
    ]


def remember(writer: Writer, record: VariantRecord) -> None:
    """Keep a variant; the first way that led to it stays."""
    if writer.get(TABLE, record.variant.variant_id) is None:
        writer.put_record(TABLE, record.variant.variant_id, record)


def artifact_record(store: Store, variant_id: str) -> ArtifactRecord:
    """What was built of a variant. Raises HandleUnknown."""
    return store.require_record(ARTIFACTS, variant_id, ArtifactRecord)


def known_artifact(store: Store, variant_id: str) -> ArtifactRecord | None:
    """What was built of a variant; None where nothing was."""
    return store.get_record(ARTIFACTS, variant_id, ArtifactRecord)


def put_artifact(writer: Writer, variant_id: str, record: ArtifactRecord) -> None:
    """Keep what was built of a variant."""
    writer.put_record(ARTIFACTS, variant_id, record)


def keep_listings(writer: Writer, variant_id: str, listings: Sequence[Module]) -> None:
    """Add listings to what is kept of a build."""

    def with_listings(known: JsonObject | None) -> JsonObject:
        record = ArtifactRecord.model_validate(known)
        modules = dict.fromkeys((*record.artifact.modules, *listings))
        artifact = record.artifact.model_copy(update={"modules": tuple(modules)})
        return record.model_copy(update={"artifact": artifact}).model_dump(mode="json")

    if listings:
        writer.update(ARTIFACTS, variant_id, with_listings)
