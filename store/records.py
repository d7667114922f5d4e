"""What the store keeps about kernels, variants and artifacts."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import Field

from ..runners.loading.files import LoadedKernel
from ..runners.model import BuildFacts, Comparison, GateResult, Record, Variant
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
    accepted: bool
    """right, faster on the visible workloads, and not slower on the held-out ones"""
    message: str


def now() -> str:
    """The time of a record: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
