"""What a compiler told of the GPU kernels of a variant, in lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...store.variants import known_artifact

if TYPE_CHECKING:
    from ...runners.model import KernelFacts
    from ...store.records import KernelRecord
    from ..bench import Bench


def occupancies(
    bench: Bench, kernel: KernelRecord, kernels: Sequence[KernelFacts]
) -> tuple[str, ...]:
    """A line for each kernel whose registers and block are known; empty for host code."""
    from ...analysis.occupancy import occupancy

    target = bench.gpus.target(kernel.loaded)
    if target is None:
        return ()
    found = [occupancy(each, target) for each in kernels]
    return tuple(each.describe() for each in found if each is not None)


def built_facts(bench: Bench, kernel: KernelRecord) -> tuple[str, ...]:
    """Registers, spills, shared memory and occupancy of the baseline, of visible workloads' and
    gates' shapes alike; empty for host code, and where its build is not kept."""
    known = known_artifact(bench.store, kernel.baseline)
    if known is None or not kernel.spec.kernel.language.on_gpu:
        return ()
    kernels = known.facts.kernels
    return (*map(_resources, kernels), *occupancies(bench, kernel, kernels))


def _resources(facts: KernelFacts) -> str:
    who = f"{facts.entry} ({', '.join(facts.shapes)})" if facts.shapes else facts.entry
    registers = "registers unknown" if facts.registers is None else f"{facts.registers} registers"
    spilled = "no spills" if not facts.spill_bytes else f"{facts.spill_bytes} bytes spilled"
    shared = (facts.static_shared or 0) + facts.dynamic_shared
    return f"{who}: {registers} and {spilled} a thread, {shared} bytes of shared memory a block"
