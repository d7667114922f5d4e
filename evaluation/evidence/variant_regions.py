"""The Region-DAG of a kernel that a variant launches, and the region that its profile blames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...analysis.profile.shares import longest
from ...analysis.ptx import read_ptx
from ...analysis.regions import RegionDag, region_dag_of
from ...analysis.regions.blame import Hot, hot_region
from ...analysis.regions.heat import least_instructions
from ...analysis.spans.profile import line_profile, other_build
from .kernel_code import Launched, launched_kernels
from .profiles import kept_profile

if TYPE_CHECKING:
    from ...runners.profiling.model import Profile
    from ..bench import Bench


@dataclass(frozen=True, slots=True)
class KernelRegions:
    """One kernel of a variant."""

    dag: RegionDag
    hot: Hot | None
    """None: it does nothing"""
    others: tuple[str, ...]
    """kernels that the workload launches, too"""
    unfit: str = ""
    """why the profile that is kept says nothing of this code"""

    @property
    def blamed(self) -> str:
        """`R7 (62 % of samples)`; without a profile, what the region has most of."""
        if self.hot is None:
            return "none: the kernel is empty"
        name, share = self.dag.regions[self.hot.region].name, f"{100 * self.hot.share:.0f} %"
        if self.hot.sampled:
            return f"{name} ({share} of samples)"
        why = f"; the profile that is kept is left out: {self.unfit}" if self.unfit else ""
        return f"{name} (by work, no time: {share} of {self.hot.of}{why})"


def regions_of_variant(
    bench: Bench,
    variant_id: str,
    workload: str | None,
    kernel: str | None,
    like: str | None = None,
) -> KernelRegions:
    """The Region-DAG of one kernel; None: of the one called `like`, else of the one with most time
    in an earlier profile; without one, with most instructions of all its threads, loops of unknown
    trips gone through once.

    Raises HandleUnknown; SpecError for host code, a variant that does not build, a kernel or
    workload that is not there, and PTX that cannot be read.
    """
    found = launched_kernels(bench, variant_id, workload, kernel, listed=False)
    profile = kept_profile(bench, variant_id, found[0].workload)
    modules = {each: read_ptx(each.ptx) for each in found}
    dags = {each: region_dag_of(module, each.entry) for each, module in modules.items()}

    def weight(each: Launched) -> tuple[bool, float, int]:
        work = least_instructions(dags[each]) * each.threads
        return each.entry == like, _time(profile, each.entry), work

    main = max(found, key=weight)
    launch = None if profile is None else longest(profile, main.entry)
    others = tuple(dict.fromkeys(each.entry for each in found if each is not main))
    if launch is None:
        return KernelRegions(dags[main], hot_region(dags[main]), others)
    code = main.code(modules[main])
    unfit = other_build(launch, code)
    counted = None if unfit else line_profile(launch)
    return KernelRegions(dags[main], hot_region(dags[main], code, counted), others, unfit)


def _time(profile: Profile | None, entry: str) -> float:
    """Nanoseconds of all launches of a kernel; 0 where nobody counted."""
    launches = () if profile is None else profile.launches
    return sum(each.nanoseconds or 0.0 for each in launches if each.kernel == entry)
