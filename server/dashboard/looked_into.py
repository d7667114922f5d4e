"""What is known of why a variant is as fast as it is: findings of the rules, and what its PTX does
otherwise than its parent's. Reads what was kept of builds and profiles; builds and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...analysis.regions.dag import RegionDag
    from ...evaluation.evidence.evidence import KnownFindings
    from ...search.session.workbench import Workbench

Json = dict[str, Any]
MOST_FINDINGS = 12


def looked_into(bench: Workbench, variant_id: str) -> Json:
    """`findings` in the order of the rules, `bottleneck`, and `regions`: the difference of each
    kernel that the parent has as well. Raises HandleUnknown."""
    known = _known(bench, variant_id)
    record = bench.evaluator.variant(variant_id)
    parent = record.parent or bench.evaluator.kernel(record.variant.kernel_id).baseline
    before: Mapping[str, RegionDag] = {}
    if known.dags and parent != variant_id:
        before = _known(bench, parent).dags
    return {
        "bottleneck": known.found.bottleneck.describe(),
        "workload": known.workload,
        "findings": [
            {"rule": f.rule, "severity": f.severity, "text": f.text, "action": f.action}
            for f in known.found.ranked[:MOST_FINDINGS]
        ],
        "regions": differences(before, known.dags),
    }


def differences(before: Mapping[str, RegionDag], after: Mapping[str, RegionDag]) -> list[Json]:
    """Of each kernel that is on both sides; where each side has one alone, of these, whatever they
    are called."""
    from ...analysis.regions.difference import difference

    if len(before) == len(after) == 1:
        pairs = list(zip(before.values(), after.values(), strict=True))
    else:
        pairs = [(before[name], after[name]) for name in after if name in before]
    return [difference(*pair).model_dump(mode="json", exclude_none=True) for pair in pairs]


def _known(bench: Workbench, variant_id: str) -> KnownFindings:
    from ...evaluation.evidence.evidence import known_findings

    kernel_id = bench.evaluator.variant(variant_id).variant.kernel_id
    return known_findings(bench, bench.evaluator.kernel(kernel_id), variant_id)
