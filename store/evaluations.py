"""Evaluations as the store has them: the newest of a variant, twins by code, confirmations."""

from __future__ import annotations

from ..runners.model import Evaluation
from .records import Confirmation, Figure
from .store import Store
from .writer import Writer

TABLE = "evaluations"
"""keys are `variant_id/NNNN`, numbered from 1"""
META = "meta"
CODE = "code/"
"""keys in `meta` of the variant that was measured first with some machine code"""
CONFIRMATION = "confirmation/"
"""keys in `meta`, by variant"""


def evaluation_of(store: Store, variant_id: str) -> Evaluation | None:
    """The newest evaluation of a variant."""
    found = store.items(TABLE, variant_id + "/")
    return Evaluation.model_validate(found[-1][1]) if found else None


def next_number(store: Store, variant_id: str) -> int:
    """Of the next evaluation of a variant, from 1."""
    return len(store.items(TABLE, variant_id + "/")) + 1


def evaluation_id(variant_id: str, number: int) -> str:
    """The key of an evaluation; they sort as their numbers do."""
    return f"{variant_id}/{number:04d}"


def newest_evaluations(store: Store, kernel_id: str) -> list[Evaluation]:
    """The last evaluation of each variant of a kernel."""
    newest = {
        str(row["variant_id"]): row
        for _, row in store.items(TABLE)
        if row["kernel_id"] == kernel_id
    }
    return [Evaluation.model_validate(row) for row in newest.values()]


def put_evaluation(writer: Writer, evaluation: Evaluation) -> None:
    """Write an evaluation; one of machine code that was run is what twins share, one that is final
    before one that noise kept from a verdict."""
    writer.put_record(TABLE, evaluation.evaluation_id, evaluation)
    code, ending = evaluation.code_hash, evaluation.ending
    if code is None or evaluation.same_code_as is not None:
        return
    key = f"{CODE}{evaluation.kernel_id}/{code}"
    if ending.final or (ending.measured and writer.get(META, key) is None):
        writer.put(META, key, {"variant_id": evaluation.variant_id})


def twin_of(store: Store, kernel_id: str, code_hash: str, variant_id: str) -> str | None:
    """Another variant of the kernel that was run with the same machine code. Its newest evaluation
    may be `unstable`, or `lost` where it was tried again."""
    known = store.get(META, f"{CODE}{kernel_id}/{code_hash}")
    return None if known is None or known["variant_id"] == variant_id else str(known["variant_id"])


def confirmation_of(store: Store, variant_id: str) -> Confirmation | None:
    """What the winner's gates last found for a variant."""
    return store.get_record(META, CONFIRMATION + variant_id, Confirmation)


def figure_of(store: Store, variant_id: str) -> Figure:
    """The one speedup of a variant: that of its confirmation, else what its evaluation measured."""
    return figure(evaluation_of(store, variant_id), confirmation_of(store, variant_id))


def figure(evaluation: Evaluation | None, confirmation: Confirmation | None) -> Figure:
    """See `figure_of`. A confirmation that found no gain, or less, has the word as well."""
    searched = None if evaluation is None else evaluation.speedup
    fresh = None if confirmation is None else confirmation.ratio
    if fresh is None or confirmation is None:
        interval = None if evaluation is None else evaluation.interval
        return Figure(speedup=searched, interval=interval)
    return Figure(
        speedup=fresh.speedup,
        interval=confirmation.interval,
        confirmed=confirmation.accepted,
        searched=searched,
    )


def is_refused(store: Store, variant_id: str) -> bool:
    """Whether the last confirmation of a variant did not accept it."""
    found = store.get(META, CONFIRMATION + variant_id)
    return found is not None and not found["accepted"]


def put_confirmation(writer: Writer, found: Confirmation) -> None:
    """Write what the winner's gates found."""
    writer.put_record(META, CONFIRMATION + found.variant_id, found)
