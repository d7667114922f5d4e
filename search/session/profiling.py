"""Profiles of a search's incumbent, from time to time: where counters may be read, and never at the
price of the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evaluation.evidence.profiles import profile_variant, workload_of
from ...runners.errors import DeviceMissing, ProcessLost, ProfileFailed, SpecError, ToolchainMissing
from ..stored.records import SearchProfile, SearchRecord

if TYPE_CHECKING:
    from ...evaluation.bench import Bench

NO_PROFILE = (DeviceMissing, ToolchainMissing, ProfileFailed, ProcessLost, SpecError)
"""no GPU, no ncu, no permission or nothing profiled, a process of ours lost, host code"""


def is_due(record: SearchRecord, steps: int, incumbent: str) -> bool:
    """Whether the incumbent is to be profiled after so many evaluations: after every `ncu_every`,
    if it was not yet."""
    every = record.settings.ncu_every
    if every is None or steps == 0 or steps % every:
        return False
    known = {each.variant_id for each in record.profiles if not each.failed}
    return incumbent not in known


def profile_of(bench: Bench, variant_id: str, step: int) -> SearchProfile:
    """What a profile on the first visible workload says; an earlier one counts. Where none can be
    made, why: nothing is raised for that."""
    from ...analysis.rules.findings import findings
    from ...evaluation.evidence.evidence import facts_for

    try:
        workload = workload_of(bench, variant_id, None)
        profile = profile_variant(bench, variant_id, workload, full=False, again=False).profile
    except NO_PROFILE as error:
        return SearchProfile(step=step, variant_id=variant_id, failed=str(error))
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    found = findings(profile, facts_for(kernel, workload))
    return SearchProfile(
        step=step,
        variant_id=variant_id,
        bottleneck=found.bottleneck.describe(),
        findings=tuple(dict.fromkeys(each.rule for each in found.ranked)),
    )
