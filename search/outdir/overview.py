"""What a state folder holds, in lines for a table: kernels, searches, variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...evaluation.difference import changed_between
from ...runners.errors import HandleUnknown
from ...runners.model import Ending, Evaluation
from ...store.evaluations import evaluation_of
from ...store.records import KernelRecord, VariantRecord
from ...store.store import Store
from ..stored.records import SearchRecord

Table = Literal["kernels", "variants", "searches"]
TABLES: tuple[Table, ...] = ("kernels", "variants", "searches")


@dataclass(frozen=True, slots=True)
class VariantLine:
    """One variant of a kernel. `changed`: what it has that the baseline has not."""

    record: VariantRecord
    evaluation: Evaluation | None
    changed: str
    is_baseline: bool
    is_incumbent: bool

    @property
    def variant_id(self) -> str:
        """The handle of the variant."""
        return self.record.variant.variant_id

    @property
    def ending(self) -> Ending | None:
        """How its evaluation ended; None before it has one."""
        return None if self.evaluation is None else self.evaluation.ending

    @property
    def speedup(self) -> float | None:
        """Over the baseline; None unless measured."""
        if self.is_baseline:
            return 1.0
        return None if self.evaluation is None else self.evaluation.speedup

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the speedup; None for the baseline."""
        if self.is_baseline or self.evaluation is None:
            return None
        return self.evaluation.interval


def kernels(store: Store) -> list[KernelRecord]:
    """Every kernel, the first opened first."""
    return [KernelRecord.model_validate(value) for value in store.table("kernels").values()]


def searches(store: Store, kernel_id: str) -> list[SearchRecord]:
    """The searches of a kernel, the first started first."""
    records = (SearchRecord.model_validate(value) for value in store.table("searches").values())
    return [record for record in records if record.kernel_id == kernel_id]


def variants(store: Store, kernel: KernelRecord) -> list[VariantLine]:
    """The variants of a kernel: the incumbent, then the fastest first, the unmeasured last.

    Speedups of two variants were measured at different times; what was compared with the
    incumbent itself and lost may show a larger one.
    """
    baseline = store.require_record("variants", kernel.baseline, VariantRecord)
    lines = [
        _line(store, kernel, baseline, VariantRecord.model_validate(value))
        for value in store.table("variants").values()
        if value["variant"]["kernel_id"] == kernel.kernel_id
    ]
    return sorted(lines, key=lambda line: (not line.is_incumbent, -(line.speedup or 0.0)))


def find(store: Store, handle: str) -> tuple[Table, str]:
    """The table and key that a handle, its beginning, or a kernel's name stands for.

    Raises HandleUnknown, also when several begin like it.
    """
    for whole in TABLES:
        if store.get(whole, handle) is not None:
            return whole, handle
    for kernel in kernels(store):
        if kernel.loaded.spec.name == handle:
            return "kernels", kernel.kernel_id
    begun: list[tuple[Table, str]] = [
        (table, key) for table in TABLES for key, _ in store.items(table, handle)
    ]
    if len(begun) == 1:
        return begun[0]
    raise HandleUnknown(
        f"{len(begun) or 'no'} handles begin with {handle!r}",
        valid=", ".join(key for _, key in begun[:6])
        or "the name of a kernel, or a kernel_id, variant_id or search_id",
        next_step="kernelwright show OUTDIR lists what there is",
    )


def _line(
    store: Store, kernel: KernelRecord, baseline: VariantRecord, record: VariantRecord
) -> VariantLine:
    variant_id = record.variant.variant_id
    return VariantLine(
        record,
        evaluation_of(store, variant_id),
        changed_between(baseline.variant, record.variant),
        variant_id == kernel.baseline,
        variant_id == kernel.incumbent,
    )
