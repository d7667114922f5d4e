"""What is to take a recorded kernel's place: machine code that was named, or a variant's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...runners.errors import SpecError
from ...runners.recording.recorded import Size3
from ...runners.recording.recording import COUNT, busiest
from ...runners.recording.swaps import Replacement
from .recorded import chosen

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

Geometry = tuple[str, str, int]
"""grid and block as they are typed, bytes of dynamic shared memory; "" and -1: the original's"""
AS_IT_WAS: Geometry = ("", "", -1)


def replacement_named(
    outdir: Path, label: str, cubin: Path, entry: str, geometry: Geometry = AS_IT_WAS
) -> Replacement:
    """A replacement as it was typed; what was not is the original's. Raises KernelwrightError."""
    (group,) = chosen(busiest(outdir / COUNT), [label])
    c, (grid, block, shared) = group.configuration, geometry
    return Replacement(
        cubin,
        entry,
        _numbers(grid) if grid else c.grid,
        _numbers(block) if block else c.block,
        shared if shared >= 0 else c.shared,
    )


def replacement_of_variant(bench: Workbench, variant_id: str, label: str) -> Replacement:
    """A variant of a kernel that `open_recorded` wrote, launched as for the workload of that label.

    Whether its parameters are the original's is seen where it is put in. Raises HandleUnknown, and
    SpecError for host code, what does not build, another kernel, and more steps than one launch.
    """
    from ...evaluation.evidence.kernel_code import built_artifact

    artifact = built_artifact(bench, variant_id)
    if label not in artifact.plans:
        raise SpecError(
            f"{variant_id} has no workload `{label}`: it is not of a kernel that was opened from "
            "this launch",
            valid=", ".join(artifact.plans),
            next_step=f"open_recorded label {label}, then open_kernel and search_step",
        )
    plan = artifact.plans[label]
    if len(plan.steps) != 1 or len(plan.launches) != 1:
        raise SpecError(
            f"{variant_id} takes {len(plan.steps)} steps, and one launch is to be replaced",
            valid="a variant of one launch without fills",
        )
    (launch,) = plan.launches
    kernel = next(each for each in plan.kernels if each.id == launch.launch)
    if kernel.cluster is not None or kernel.cooperative:
        raise SpecError(
            f"{variant_id} is launched in clusters or cooperatively, which a replacement is not",
            valid="a plain launch",
        )
    cubin = bench.outdir / "modules" / f"{kernel.sha256}.cubin"
    return Replacement(cubin, kernel.entry, launch.grid, kernel.block, kernel.shared)


def _numbers(text: str) -> Size3:
    parts = [part.strip() for part in text.split(",")]
    if not 1 <= len(parts) <= 3 or not all(part.isdigit() and int(part) for part in parts):
        raise SpecError(f"{text!r} is no size", valid="one to three numbers from 1: 128 or 8,8,1")
    x, y, z = (*map(int, parts), *(1,) * (3 - len(parts)))
    return (x, y, z)
