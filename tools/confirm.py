"""The winner's gates: fresh seeds, held-out workloads, fresh processes, fresh blocks.

The best of many measurements is partly lucky (the winner's curse); what is announced is
measured anew.
"""

from __future__ import annotations

from ..runners.gates import FIRST_SET, Run, first_failure
from ..runners.model import Comparison, GateResult
from ..runners.pools import SeedPool
from .attempt import describe
from .kernel_state import OpenKernel, confirmation_pools
from .records import Confirmation
from .rig import CHECKED_SEEDS, Rig


def confirm(rig: Rig, kernel: OpenKernel, variant_id: str, baseline: str) -> Confirmation:
    """Check and time a loaded winner against the loaded baseline. Raises ProcessLost."""
    rig.rest(kernel)
    visible, held_out = confirmation_pools(kernel)
    pools = (*visible, *held_out)
    try:
        rig.attach_pools(kernel, pools)
        rig.adopt(kernel, baseline, pools)
        return _confirmed(rig, kernel, variant_id, baseline, visible, held_out)
    finally:
        rig.detach_pools(kernel, [pool.pool for pool in pools])


def _confirmed(
    rig: Rig,
    kernel: OpenKernel,
    variant_id: str,
    baseline: str,
    visible: tuple[SeedPool, ...],
    held_out: tuple[SeedPool, ...],
) -> Confirmation:
    runs = list[Run]()
    for pool in (*visible, *held_out):
        runs += rig.run(kernel, variant_id, pool, CHECKED_SEEDS)
    gates = tuple(gate(runs) for gate in FIRST_SET[:-1])
    if failed := first_failure(gates):
        return _refused(variant_id, gates, failed)
    found = list[Comparison]()
    for group in (visible, held_out):
        if not group:
            continue
        compared = rig.compare(kernel, group, variant_id, [baseline])
        if compared.comparison is None:
            failed = first_failure(compared.gates)
            assert failed is not None
            return _refused(variant_id, (*gates, *compared.gates), failed)
        found.append(compared.comparison)
    return _accepted_or_not(variant_id, gates, found)


def _accepted_or_not(
    variant_id: str, gates: tuple[GateResult, ...], found: list[Comparison]
) -> Confirmation:
    visible, held_out = found[0], found[1] if len(found) > 1 else None
    message = f"visible workloads: {describe(visible.ratios[0], 'the baseline')}"
    accepted = visible.ratios[0].judgement == "faster"
    if held_out is not None:
        message += f"; held-out workloads: {describe(held_out.ratios[0], 'the baseline')}"
        accepted = accepted and held_out.ratios[0].judgement != "slower"
    return Confirmation(
        variant_id=variant_id,
        right=True,
        gates=gates,
        visible=visible,
        held_out=held_out,
        accepted=accepted,
        message=message,
    )


def _refused(variant_id: str, gates: tuple[GateResult, ...], failed: GateResult) -> Confirmation:
    return Confirmation(
        variant_id=variant_id,
        right=False,
        gates=gates,
        visible=None,
        held_out=None,
        accepted=False,
        message=f"gate {failed.gate}: {failed.message}",
    )
