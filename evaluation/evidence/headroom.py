"""How far a kernel is from what the machine allows, in words for whoever plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...runners.errors import DeviceMissing, KernelwrightError
from ...store.peaks import copy_bandwidth, host_peaks, put_copy_bandwidth, put_host_peaks

if TYPE_CHECKING:
    from ...runners.limits.limits import Peaks
    from ...store.records import KernelRecord
    from ..bench import Bench


def peaks_for(bench: Bench, kernel: KernelRecord) -> Peaks:
    """The peaks of the kernel's device, measured once a state folder (2 s), on a host anew while
    other programs disturbed it.

    Raises ToolchainMissing, DeviceMissing, ProcessLost.
    """
    from ...runners.limits.gpu_limits import gpu_peaks
    from ...runners.limits.limits import DISTURBED, measure_host, of_contract

    known = known_peaks(bench, kernel)
    if known is not None and known.others <= DISTURBED:
        return known
    target = bench.gpus.target(kernel.loaded)
    if target is None:
        found = measure_host(bench.outdir / "modules")
        with bench.store.transaction() as writer:
            put_host_peaks(writer, found)
        return of_contract(found, kernel.loaded.spec.io)
    measured = bench.evaluator.copy_bandwidth(kernel.kernel_id)
    with bench.store.transaction() as writer:
        put_copy_bandwidth(writer, str(target.uuid), measured)
    return gpu_peaks(target, kernel.loaded.spec.io, measured)


def known_peaks(bench: Bench, kernel: KernelRecord) -> Peaks | None:
    """Peaks that need no measurement (any more). Raises DeviceMissing for a GPU of which nothing is
    known."""
    from ...runners.limits.gpu_limits import gpu_peaks
    from ...runners.limits.limits import of_contract

    target = bench.gpus.target(kernel.loaded)
    if target is None:
        found = host_peaks(bench.store)
        return None if found is None else of_contract(found, kernel.loaded.spec.io)
    if target.uuid is None:
        return gpu_peaks(target, kernel.loaded.spec.io, None)
    known = copy_bandwidth(bench.store, target.uuid)
    return None if known is None else gpu_peaks(target, kernel.loaded.spec.io, known)


def headroom(bench: Bench, kernel: KernelRecord, ms: Mapping[str, float]) -> str:
    """One line a visible workload: what bounds it and how far the floor is; why not, if unknown.

    Measures the machine's peaks where nobody did yet.
    """
    if not kernel.timed:
        return "unknown: the baseline was not timed"
    try:
        peaks = peaks_for(bench, kernel)
    except KernelwrightError as error:
        return f"unknown: {error.message}"
    return describe(kernel, peaks, ms)


def known_headroom(bench: Bench, kernel: KernelRecord, ms: Mapping[str, float]) -> str | None:
    """As `headroom`, None where the machine's peaks were not measured yet."""
    try:
        peaks = known_peaks(bench, kernel)
    except KernelwrightError as error:
        return f"unknown: {error.message}"
    return None if peaks is None else describe(kernel, peaks, ms)


def most_speedup(bench: Bench, kernel: KernelRecord) -> float | None:
    """The largest speedup over the baseline that datasheet and declared work allow; None: no such
    bound is known, as on a host, whose measured peaks can be beaten."""
    from ...runners.errors import ExpressionError, SpecError
    from ...runners.gates import physics
    from ...runners.specs.contract import workload_contracts

    spec = kernel.loaded.spec
    if spec.io.bytes is None and spec.io.flops is None:
        return None  # to look for GPUs takes half a second
    try:
        target = bench.gpus.target(kernel.loaded)
        known = physics.floors(spec.io, workload_contracts(spec), target)
    except (DeviceMissing, ExpressionError, SpecError):
        return None
    weights = {w.name: w.weight for w in spec.workloads if not w.held_out}
    return physics.most_speedup(known, kernel.baseline_ms, weights)


def describe(kernel: KernelRecord, peaks: Peaks, ms: Mapping[str, float]) -> str:
    """One line a workload that has a time."""
    from ...analysis.roofline import summary

    return "\n".join(each.describe() for each in summary(kernel.loaded.spec, peaks, ms))
