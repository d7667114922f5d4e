"""What was built of a variant and kept: its launches as planned, the structure of its PTX.

Nothing is built, run or measured for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...runners.errors import KernelwrightError
from ...runners.plans.plan import module_name

if TYPE_CHECKING:
    from ...analysis.regions import RegionDag
    from ...runners.profiling.model import Profile
    from ...store.records import ArtifactRecord, KernelRecord
    from ..bench import Bench


def planned_profile(
    bench: Bench, kernel: KernelRecord, record: ArtifactRecord | None, workload: str
) -> Profile | None:
    """Waves, tails and limits of its launches for a workload; None where no GPU is meant, or
    nothing is launched."""
    from ...analysis.rules.static import static_profile

    target = bench.gpus.target(kernel.loaded)
    if record is None or target is None or workload not in record.artifact.plans:
        return None
    return static_profile(record.artifact.plans[workload], record.facts.kernels, target)


def structures(
    bench: Bench, record: ArtifactRecord | None, workload: str
) -> tuple[dict[str, RegionDag], tuple[str, ...]]:
    """The kernels that are launched for a workload, by entry, and why some could not be read."""
    if record is None or workload not in record.artifact.plans:
        return {}, ()
    from ...analysis.regions import RegionDag, region_dag

    found, unread = dict[str, RegionDag](), list[str]()
    modules = {m.of: m for m in record.artifact.modules if m.kind == "ptx"}
    launched = {(each.entry, each.sha256) for each in record.artifact.plans[workload].kernels}
    for entry, sha256 in sorted(launched):
        if sha256 not in modules:
            continue
        path = bench.outdir / "modules" / module_name(modules[sha256])
        try:
            found[entry] = region_dag(path.read_text(encoding="utf-8", errors="replace"), entry)
        except (KernelwrightError, OSError) as error:
            unread.append(f"the PTX of {entry} cannot be read: {error}")
    return found, tuple(unread)
