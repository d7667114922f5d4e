"""Who follows an incumbent that a confirmation refused."""

from __future__ import annotations

from collections.abc import Iterator

from ..runners.model import Ending, Evaluation
from ..store.store import Store


def next_best(store: Store, kernel_id: str, baseline: str) -> str:
    """The fastest variant of a kernel that went through the incumbent set and that no confirmation
    refused, else the baseline."""
    best = (1.0, baseline)
    for each in _newest(store, kernel_id):
        if each.became_incumbent and each.speedup and not _is_refused(store, each.variant_id):
            best = max(best, (each.speedup, each.variant_id))
    return best[1]


def runners_up(store: Store, kernel_id: str) -> tuple[str, ...]:
    """Variants that were measured to be faster than the baseline, but not asked to be the
    incumbent: the surest first."""
    found = [
        (each.interval[0], each.variant_id)
        for each in _newest(store, kernel_id)
        if each.ending is Ending.faster
        and each.interval is not None
        and not each.became_incumbent
        and not _is_refused(store, each.variant_id)
    ]
    return tuple(variant_id for _, variant_id in sorted(found, reverse=True))


def _newest(store: Store, kernel_id: str) -> Iterator[Evaluation]:
    """The last evaluation of each variant of a kernel."""
    newest = {
        str(value["variant_id"]): value
        for _, value in store.items("evaluations")
        if value["kernel_id"] == kernel_id
    }
    return map(Evaluation.model_validate, newest.values())


def _is_refused(store: Store, variant_id: str) -> bool:
    found = store.get("meta", f"confirmation/{variant_id}")
    return found is not None and not found["accepted"]
