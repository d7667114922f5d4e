"""Who follows an incumbent that a confirmation refused."""

from __future__ import annotations

from ..runners.model import Ending
from ..store.evaluations import is_refused, newest_evaluations
from ..store.store import Store


def next_best(store: Store, kernel_id: str, baseline: str) -> str:
    """The fastest variant of a kernel that went through the incumbent set and that no confirmation
    refused, else the baseline."""
    best = (1.0, baseline)
    for each in newest_evaluations(store, kernel_id):
        if each.became_incumbent and each.speedup and not is_refused(store, each.variant_id):
            best = max(best, (each.speedup, each.variant_id))
    return best[1]


def runners_up(store: Store, kernel_id: str) -> tuple[str, ...]:
    """Variants that were measured to be faster than the baseline, but not asked to be the
    incumbent: the surest first."""
    found = [
        (each.interval[0], each.variant_id)
        for each in newest_evaluations(store, kernel_id)
        if each.ending is Ending.faster
        and each.interval is not None
        and not each.became_incumbent
        and not is_refused(store, each.variant_id)
    ]
    return tuple(variant_id for _, variant_id in sorted(found, reverse=True))
