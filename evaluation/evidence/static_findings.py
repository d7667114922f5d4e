"""What rules say of a variant that nobody profiled: from launch plan, compiler and PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...store.variants import artifact_record
from .built_structure import planned_profile, structures
from .kernel_code import launched_kernels

if TYPE_CHECKING:
    from ...analysis.roofline import Roofline
    from ...analysis.rules.findings import Findings
    from ...runners.profiling.model import Profile
    from ..bench import Bench


@dataclass(frozen=True, slots=True)
class Unrun:
    """The launches as they are planned, and what is found."""

    profile: Profile
    found: Findings
    unread: tuple[str, ...]
    """why the PTX of a kernel could not be read"""


def static_findings(
    bench: Bench, variant_id: str, workload: str, roofline: Roofline | None = None
) -> Unrun | None:
    """Of a GPU variant that builds, on a visible workload; None where no GPU is meant, or nothing
    is launched. `roofline`: of its measured time, if there is one. Raises as `launched_kernels`."""
    from ...analysis.rules.unrun import without_counters
    from .evidence import facts_for

    launched_kernels(bench, variant_id, workload, None, listed=False)
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    record = artifact_record(bench.store, variant_id)
    profile = planned_profile(bench, kernel, record, workload)
    if profile is None:
        return None
    dags, unread = structures(bench, record, workload)
    facts = facts_for(kernel, workload)
    compiled = record.facts.kernels
    return Unrun(profile, without_counters(profile, compiled, dags, facts, roofline), unread)
