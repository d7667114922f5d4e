"""What a state folder holds, in lines for a table: kernels, searches, variants."""

from __future__ import annotations

from dataclasses import dataclass

from ...evaluation.difference import changed_between
from ...runners.model import Ending, Evaluation
from ...store.evaluations import confirmation_of, evaluation_of, figure
from ...store.records import Figure, KernelRecord, VariantRecord
from ...store.searches import search_rows
from ...store.store import Store
from ...store.variants import variant_record, variants_by_age
from ..stored.records import SearchRecord


@dataclass(frozen=True, slots=True)
class VariantLine:
    """One variant of a kernel. `changed`: what it has that the baseline has not."""

    record: VariantRecord
    evaluation: Evaluation | None
    figure: Figure
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
        """Over the baseline, confirmed where it was; None unless measured."""
        return 1.0 if self.is_baseline else self.figure.speedup

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the speedup; None for the baseline."""
        return None if self.is_baseline else self.figure.interval


def searches(store: Store, kernel_id: str) -> list[SearchRecord]:
    """The searches of a kernel, the first started first."""
    records = map(SearchRecord.model_validate, search_rows(store))
    return [record for record in records if record.kernel_id == kernel_id]


def variants(store: Store, kernel: KernelRecord) -> list[VariantLine]:
    """The variants of a kernel: the incumbent, then the fastest first, the unmeasured last.

    Speedups of two variants were measured at different times; what was compared with the
    incumbent itself and lost may show a larger one, all the more where nobody confirmed it.
    """
    baseline = variant_record(store, kernel.baseline)
    lines = [
        _line(store, kernel, baseline, record)
        for record in variants_by_age(store, kernel.kernel_id)
    ]
    return sorted(lines, key=lambda line: (not line.is_incumbent, -(line.speedup or 0.0)))


def _line(
    store: Store, kernel: KernelRecord, baseline: VariantRecord, record: VariantRecord
) -> VariantLine:
    variant_id = record.variant.variant_id
    evaluation = evaluation_of(store, variant_id)
    return VariantLine(
        record,
        evaluation,
        figure(evaluation, confirmation_of(store, variant_id)),
        changed_between(baseline.variant, record.variant),
        variant_id == kernel.baseline,
        variant_id == kernel.incumbent,
    )
