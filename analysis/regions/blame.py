"""Which region of a kernel is to blame: the one with most samples of a profile, and where there is
none, the one with most work.

A warp is sampled at the instruction that cannot issue, so that a region with many samples may be
one that waits for another (Nsight Compute, "Warp Stall Sampling"). `touch.py` looks at both.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...runners.profiling.wanted import SAMPLES
from ..spans.code import KernelCode
from ..spans.profile import LineProfile
from .dag import RegionDag
from .heat import hottest


@dataclass(frozen=True, slots=True)
class Hot:
    """The region to blame."""

    region: int
    """its index"""
    share: float
    """from 0 to 1, of what `of` names"""
    of: str
    """samples; or the resource of which it has the largest share among all that is executed
    equally often"""
    sampled: bool
    """by a profile; else by work, which is no time"""


def samples_by_region(
    dag: RegionDag, code: KernelCode, profile: LineProfile
) -> tuple[dict[int, float], float]:
    """(samples by the index of a region, samples elsewhere).

    A machine instruction belongs to the region of the PTX line that it was assembled from.
    Elsewhere are functions that are called, and instructions that no line of the PTX is named for.
    """
    instructions = dag.function.instructions
    region_at = {
        instructions[each].line: number
        for number, region in enumerate(dag.regions)
        for each in region.instructions
    }
    found, elsewhere = dict[int, float](), 0.0
    for offset, counters in profile.by_offset.items():
        samples = counters.get(SAMPLES, 0.0)
        machine = code.by_offset.get(offset)
        line = None if machine is None else machine.ptx_line
        above = None if line is None else code.by_ptx_line.get(line)
        number = None if above is None else region_at.get(above.line)
        if number is None:
            elsewhere += samples
        elif samples:
            found[number] = found.get(number, 0.0) + samples
    return found, elsewhere


def hot_region(
    dag: RegionDag, code: KernelCode | None = None, profile: LineProfile | None = None
) -> Hot | None:
    """The region to blame, of a profile with samples or by work; None for an empty kernel."""
    if code is not None and profile is not None:
        samples, elsewhere = samples_by_region(dag, code, profile)
        if samples:
            most = max(samples, key=lambda number: (samples[number], -number))
            whole = sum(samples.values()) + elsewhere
            return Hot(region=most, share=samples[most] / whole, of="samples", sampled=True)
    ranked = hottest(dag, [(region.loop, region.work) for region in dag.regions])
    if not ranked:
        return None
    number, shares = ranked[0]
    named = {name: share for name, share in shares.items() if name != "instructions"} or shares
    resource = max(named, key=lambda name: named[name])
    return Hot(region=number, share=named[resource], of=resource, sampled=False)
