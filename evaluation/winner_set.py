"""The winner's gates: fresh seeds, held-out workloads, fresh processes, fresh blocks.

The best of many measurements is partly lucky (the winner's curse); what is announced is
measured anew, and how much of the first estimate is left is said.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..runners.gates import FIRST_SET, Run, first_failure, together
from ..runners.gates.incumbent import is_deterministic
from ..runners.gates.physics import is_plausibly_fast, obeys_physics
from ..runners.gates.winner import (
    is_faster_again,
    is_not_slower_on_held_out_workloads,
    keeps_its_gain,
)
from ..runners.model import Comparison, GateResult
from ..runners.progress import report
from ..runners.protocol.pools import SeedPool
from ..store.records import Confirmation
from .attempt import describe
from .rig.gated_comparison import GatedComparison
from .rig.open_kernel import OpenKernel, confirmation_pools
from .rig.rig import CHECKED_SEEDS, Rig

MIN_GAIN = 0.01
Pools = tuple[SeedPool, ...]


def confirm(
    rig: Rig,
    kernel: OpenKernel,
    variant_id: str,
    baseline: str,
    first: float | None = None,
    min_gain: float = MIN_GAIN,
) -> Confirmation:
    """Check and time a loaded winner against the loaded baseline. Raises ProcessLost.

    `first`: the speedup that made it the winner.
    """
    rig.rest(kernel)
    visible, held_out = confirmation_pools(kernel)
    pools = (*visible, *held_out)
    try:
        report("fresh seeds")
        rig.attach_pools(kernel, pools)
        rig.adopt(kernel, baseline, pools)
        runs = _checked(rig, kernel, variant_id, pools)
        gates = tuple(gate(runs) for gate in FIRST_SET[:-1])
        if failed := first_failure(gates):
            return _refused(variant_id, gates, failed)
        groups = [group for group in (visible, held_out) if group]
        compared = list[GatedComparison]()
        for group in groups:
            report(f"timing {', '.join(pool.contract.label for pool in group)}")
            compared.append(rig.compare(kernel, group, variant_id, [baseline], placed=True))
            gates = together(gates, compared[-1].gates)
            if failed := first_failure(gates):
                return _refused(variant_id, gates, failed)
        gates += _after_timing(kernel, variant_id, baseline, runs, compared)
        if failed := first_failure(gates):
            return _refused(variant_id, gates, failed)
        found = [c.comparison for c in compared if c.comparison is not None]
        called = rig.as_called(kernel, visible, [variant_id, baseline])
        found[0] = called.beside(found[0])
        told = _accepted_or_not(variant_id, gates, found, first, min_gain)
        reference = rig.reference_times(kernel, visible)
        return told.model_copy(update={"reference": reference})
    finally:
        rig.detach_pools(kernel, [pool.pool for pool in pools])


def _checked(rig: Rig, kernel: OpenKernel, variant_id: str, pools: Pools) -> list[Run]:
    runs = list[Run]()
    for pool in pools:
        runs += rig.run(kernel, variant_id, pool, CHECKED_SEEDS)
    return runs


def _after_timing(
    kernel: OpenKernel,
    variant_id: str,
    baseline: str,
    checked: Sequence[Run],
    compared: Sequence[GatedComparison],
) -> tuple[GateResult, ...]:
    """Determinism over all runs; physics on the visible and on the held-out workloads."""
    calibration, spec = kernel.calibration, kernel.loaded.spec
    own, floors = list(checked), calibration.floors(spec, kernel.target)
    for each in compared:
        own += [run for run in each.runs if run.variant == variant_id]
        calibration.saw([run for run in each.runs if run.variant == baseline])
    steady = calibration.is_deterministic
    found = [is_deterministic(own, asked=spec.io.deterministic, baseline_is=steady)]
    comparisons = [c.comparison for c in compared if c.comparison is not None]
    for where, comparison in zip(("visible", "held-out"), comparisons, strict=False):
        for result in (
            obeys_physics(comparison, floors, baseline),
            is_plausibly_fast(comparison, baseline),
        ):
            message = f"{where} workloads: {result.message}".removesuffix(": ")
            found.append(result.model_copy(update={"message": message}))
    return tuple(found)


def _accepted_or_not(
    variant_id: str,
    gates: tuple[GateResult, ...],
    found: Sequence[Comparison],
    first: float | None,
    min_gain: float,
) -> Confirmation:
    visible, held_out = found[0], found[1] if len(found) > 1 else None
    ratio = visible.ratios[0]
    kept = keeps_its_gain(first, ratio, min_gain)
    last = (
        is_faster_again(ratio),
        kept,
        is_not_slower_on_held_out_workloads(None if held_out is None else held_out.ratios[0]),
    )
    message = f"visible workloads: {describe(ratio, 'the baseline', visible.resolution)}"
    if first is not None:
        message += f" ({kept.message})"
    message += _placements(visible) + _warm(visible) + _apart(visible)
    if held_out is not None:
        again = describe(held_out.ratios[0], "the baseline", held_out.resolution)
        message += f"; held-out workloads: {again}"
    return Confirmation(
        variant_id=variant_id,
        right=True,
        gates=(*gates, *last),
        visible=visible,
        held_out=held_out,
        first=first,
        accepted=first_failure(last) is None,
        message=message,
    )


def _placements(visible: Comparison) -> str:
    """What the interval was taken over, beside time; empty where buffers lay in one place."""
    if not visible.placements:
        return ""
    return f" over {visible.placements} placements of its buffers"


def _warm(visible: Comparison) -> str:
    """Times with warm caches by workload, which no verdict rests on; empty where there are none."""
    both = [w for w in visible.workloads if len(w.hot_ms) == 2]
    if not both:
        return ""
    (other,) = both[0].hot_ms.keys() - {visible.candidate}
    told = (
        f"{w.hot_ms[visible.candidate]:.3g} ms on `{w.workload}` "
        f"({w.hot_ms[other] / w.hot_ms[visible.candidate]:.3g}x the baseline)"
        for w in both
    )
    over = "".join(f"{r.speedup:.3g}x ({r.low:.3g} to {r.high:.3g}), " for r in visible.hot)
    return f"; repeated with warm caches {over}{', '.join(told)}"


def _apart(visible: Comparison) -> str:
    """Calls between other work, which no verdict rests on; empty where none were taken."""
    told = ", ".join(f"{r.speedup:.3g}x ({r.low:.3g} to {r.high:.3g})" for r in visible.apart)
    return f"; called once between other work {told}" if told else ""


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
