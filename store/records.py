"""What the store keeps about kernels, variants and artifacts."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import Field

from ..runners.loading.files import LoadedKernel
from ..runners.model import (
    BuildFacts,
    Comparison,
    GateResult,
    Ratio,
    Record,
    ReferenceTimes,
    Variant,
)
from ..runners.plans.plan import Artifact
from ..runners.specs.spec import KernelSpec, Parameter


class KernelRecord(Record):
    """An open kernel. `baseline` and `incumbent` are variant ids."""

    kernel_id: str
    loaded: LoadedKernel
    odd_symbols: dict[str, int] | None
    baseline: str
    incumbent: str
    baseline_ms: dict[str, float]
    """median time by visible workload, as measured when the kernel was opened;
    empty: opened where no GPU is, so the baseline was built and not timed"""
    opened_at: str
    found_parameters: dict[str, Parameter] = Field(default_factory=dict[str, Parameter])
    """what the toolchain found to tune, beside the spec's own parameters"""
    notes: tuple[str, ...] = ()
    """what the reader should know of the opening"""

    @property
    def spec(self) -> KernelSpec:
        """The spec with everything that can be tuned among its parameters."""
        spec = self.loaded.spec
        return spec.model_copy(update={"parameters": {**self.found_parameters, **spec.parameters}})

    @property
    def timed(self) -> bool:
        """Whether the baseline was checked and timed."""
        return bool(self.baseline_ms)


class VariantRecord(Record):
    """A variant and where it came from."""

    variant: Variant
    parent: str | None = None
    method: str = "baseline"
    detail: str = ""


class ArtifactRecord(Record):
    """A build that can be used again while its modules are still on disk."""

    artifact: Artifact
    facts: BuildFacts


class Confirmation(Record):
    """The winner's gates: fresh seeds, held-out workloads, a fresh process, fresh blocks."""

    variant_id: str
    right: bool
    gates: tuple[GateResult, ...]
    visible: Comparison | None
    held_out: Comparison | None
    first: float | None = None
    """the speedup that made it the winner; what is left of it stands in `visible`"""
    reference: ReferenceTimes | None = None
    """None: it was not timed"""
    accepted: bool
    """right, faster on the visible workloads, and not slower on the held-out ones"""
    message: str

    @property
    def ratio(self) -> Ratio | None:
        """Over the baseline, on the visible workloads; None: refused before it was timed."""
        return None if self.visible is None else self.visible.ratios[0]

    @property
    def interval(self) -> tuple[float, float] | None:
        """That is told with `ratio`: it holds every way of calling that was timed."""
        if self.visible is None or self.ratio is None:
            return None
        return self.visible.seen_by(self.ratio.over)


def shapes_of(found: Confirmation) -> str:
    """What a confirmation rests on: `2 shapes and 1 held out`, or `1 shape alone, none held out`.

    A gain on the one shape that a search was fitted to need not be one on any other.
    """
    seen = 0 if found.visible is None else len(found.visible.workloads)
    unseen = 0 if found.held_out is None else len(found.held_out.workloads)
    shapes = "1 shape" if seen == 1 else f"{seen} shapes"
    return f"{shapes} and {unseen} held out" if unseen else f"{shapes} alone, none held out"


class Figure(Record):
    """How much faster a variant is than the baseline, as it is told everywhere."""

    speedup: float | None
    """None: never measured"""
    interval: tuple[float, float] | None
    confirmed: bool | None = None
    """measured anew by the winner's gates, and accepted or not; None: by the search alone, which
    picks lucky blocks"""
    searched: float | None = None
    """what the search had measured, where the confirmation has the word"""


def now() -> str:
    """The time of a record: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
