"""What rules say of a variant that nobody profiled: from launch plan, compiler and PTX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..runners.errors import SpecError
from .records import ArtifactRecord
from .variant_code import Launched, launched_kernels

if TYPE_CHECKING:
    from ..analysis.regions import RegionDag
    from ..analysis.roofline import Roofline
    from ..analysis.rules.findings import Findings
    from ..runners.profiling.model import Profile
    from .workbench import Workbench


@dataclass(frozen=True, slots=True)
class Unrun:
    """The launches as they are planned, and what is found."""

    profile: Profile
    found: Findings
    unread: tuple[str, ...]
    """why the PTX of a kernel could not be read"""


def static_findings(
    bench: Workbench, variant_id: str, workload: str, roofline: Roofline | None = None
) -> Unrun | None:
    """Of a GPU variant that builds, on a visible workload; None where no GPU is meant, or nothing
    is launched. `roofline`: of its measured time, if there is one. Raises as `launched_kernels`."""
    from ..analysis.rules.static import static_profile
    from ..analysis.rules.unrun import without_counters
    from .evidence import facts_for

    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    target = bench.gpus.target(kernel.loaded)
    launched = launched_kernels(bench, variant_id, workload, None, listed=False)
    record = bench.store.require_record("artifacts", variant_id, ArtifactRecord)
    plan, compiled = record.artifact.plans[workload], record.facts.kernels
    profile = None if target is None else static_profile(plan, compiled, target)
    if profile is None:
        return None
    dags, unread = _dags(launched)
    facts = facts_for(kernel, workload)
    return Unrun(profile, without_counters(profile, compiled, dags, facts, roofline), unread)


def _dags(launched: Iterable[Launched]) -> tuple[dict[str, RegionDag], tuple[str, ...]]:
    from ..analysis.regions import region_dag

    found, unread = dict[str, "RegionDag"](), list[str]()
    for each in launched:
        try:
            found[each.entry] = region_dag(each.ptx, each.entry)
        except SpecError as error:
            unread.append(f"the PTX of {each.entry} cannot be read: {error.message}")
    return found, tuple(unread)
