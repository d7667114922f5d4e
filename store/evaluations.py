"""Evaluations and confirmations as the store has them."""

from __future__ import annotations

from ..runners.model import Evaluation
from .records import Confirmation
from .store import Store


def evaluation_of(store: Store, variant_id: str) -> Evaluation | None:
    """The newest evaluation of a variant."""
    found = store.items("evaluations", variant_id + "/")
    return Evaluation.model_validate(found[-1][1]) if found else None


def confirmation_of(store: Store, variant_id: str) -> Confirmation | None:
    """What the winner's gates last found for a variant."""
    return store.get_record("meta", f"confirmation/{variant_id}", Confirmation)
