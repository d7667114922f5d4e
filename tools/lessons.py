"""What a search leaves for later ones: transitions, the kernel's memory, the ledger."""

from __future__ import annotations

import math

from ..runners.model import Evaluation
from ..search.store import Writer
from ..search.work import Evaluate, Outcome
from .candidates import changed
from .records import KernelRecord, VariantRecord, now


def learn(
    writer: Writer,
    kernel: KernelRecord,
    search_id: str,
    work: Evaluate,
    parent: VariantRecord,
    outcome: Outcome,
    evaluation: Evaluation | None,
) -> None:
    """The transition for ReGraph, what the kernel's memory keeps, and what was spent."""
    candidate, spec = work.candidate, kernel.loaded.spec
    writer.append(
        "transitions",
        {
            "time": now(),
            "kernel_id": kernel.kernel_id,
            "arch": spec.device_profile.arch,
            "language": spec.kernel.kernel_type,
            "from_method": parent.method,
            "to_method": candidate.method,
            "ending": outcome.ending.value,
            "speedup": outcome.speedup,
            "interval": outcome.interval,
            "log2_speedup": None if outcome.speedup is None else math.log2(outcome.speedup),
            "baseline_ms": kernel.baseline_ms,
            "search_id": search_id,
            "edge_id": work.edge_id,
            "parent": work.parent,
            "variant_id": outcome.variant_id,
        },
    )
    if outcome.duplicate_of_known:
        return
    writer.append(
        "memory",
        {
            "kernel_id": kernel.kernel_id,
            "method": candidate.method,
            "detail": candidate.detail,
            "changed": changed(candidate),
            "ending": outcome.ending.value,
            "speedup": outcome.speedup,
            "lesson": outcome.message.splitlines()[0] if outcome.message else "",
            "variant_id": outcome.variant_id,
        },
    )
    seconds = {} if evaluation is None else evaluation.seconds
    spent = {"search_id": search_id, "builds": outcome.builds}
    writer.append("ledger", {**spent, "seconds": seconds if outcome.spent_build else {}})
