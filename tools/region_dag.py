"""The verb `region_dag`: what the PTX of a kernel does, where, and what another variant changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from ..analysis import regions
from ..analysis.regions.records import Difference, Overview, RegionView, StageView
from ..analysis.regions.touch import touch
from ..analysis.sass import SassDifference, sass_difference
from ..analysis.sass.module import NO_LISTING
from ..evaluation.evidence.kernel_code import code_of_variant
from ..evaluation.evidence.variant_regions import KernelRegions, regions_of_variant
from ..runners.model import Record
from .base import Tool, WorkArguments
from .parts.calls import again, call

if TYPE_CHECKING:
    from ..evaluation.bench import Bench
    from ..search.session.workbench import Workbench

NamedBy = {"stage": "name", "region": "name", "difference": "other"}


class RegionDagArguments(WorkArguments):
    """Which kernel of which variant, and how near to look."""

    variant_id: str
    view: Literal["overview", "stage", "region", "difference"] = "overview"
    name: str | None = None
    """of the stage or region, as the overview calls it: S3, R7"""
    other: str | None = None
    """view difference: the changed variant"""
    kernel: str | None = None
    """name in the machine code; default: the one with most time or work"""
    workload: str | None = None
    """default: the first"""
    offset: int = Field(default=0, ge=0)
    """next_offset of the reply before"""

    @model_validator(mode="after")
    def _names_its_subject(self) -> RegionDagArguments:
        needed = NamedBy.get(self.view)
        for field in ("name", "other"):
            given = getattr(self, field) is not None
            if given and field != needed:
                views = " or ".join(v for v, named in NamedBy.items() if named == field)
                raise ValueError(f"{field}: is for view {views}")
            if not given and field == needed:
                raise ValueError(f"{field}: view {self.view} needs it")
        if self.offset and self.view == "overview":
            raise ValueError("offset: an overview is one page")
        return self


class RegionDagResult(Record):
    """One view of one kernel. Work is counted for one thread, and it is never time."""

    variant_id: str
    kernel: str
    other_kernels: tuple[str, ...] = ()
    """that the workload launches, too"""
    hot_region: str | None = None
    """the region with most samples of a kept profile, or with most work"""
    touches_hot_region: str | None = None
    """whether `other` changed that region, what feeds it, or how often it runs"""
    overview: Overview | None = None
    stage: StageView | None = None
    region: RegionView | None = None
    difference: Difference | None = None
    machine_code: SassDifference | None = None
    """with difference: SASS of both, counted as it stands there"""
    why_no_machine_code: str | None = None
    next_offset: int | None = None
    """where the next page starts; None: this was the last"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def region_dag(bench: Workbench, arguments: RegionDagArguments) -> RegionDagResult:
    """Show the structure and work of a Triton or CUDA kernel, read from its PTX.

    overview: loops, stages between barriers, regions with most work, live registers, pipelines,
    divergence. stage and region look closer: PTX, lines, what is waited for. difference: what
    `other` changed in regions and SASS, and whether it touched the hot region. Runs nothing, needs
    no GPU. Not for host C++. Work is no time: ncu_summary measures. Takes 0.1 to 8 s.
    Example: {"variant_id": "v0123456789ab", "view": "region", "name": "R7"}
    """
    found = regions_of_variant(bench, arguments.variant_id, arguments.workload, arguments.kernel)
    result = RegionDagResult(
        variant_id=arguments.variant_id,
        kernel=found.dag.entry,
        other_kernels=found.others,
        advice="",
    )
    return result.model_copy(update=_view(bench, arguments, found))


def _view(
    bench: Workbench, arguments: RegionDagArguments, found: KernelRegions
) -> dict[str, object]:
    match arguments.view:
        case "overview":
            return _overview(arguments, found)
        case "stage":
            return _stage(arguments, found)
        case "region":
            return _region(arguments, found)
        case "difference":
            return _difference(bench, arguments, found)


def _overview(arguments: RegionDagArguments, found: KernelRegions) -> dict[str, object]:
    hot = "" if found.hot is None else found.dag.regions[found.hot.region].name
    following = f"view region, name {hot}: its PTX, lines, and what it waits for"
    if not hot:
        following = "nothing is left of this kernel: propose_moves has other starts"
    elif found.hot and not found.hot.sampled:
        following += "; ncu_summary says where time goes"
    return {
        "overview": regions.overview(found.dag),
        "hot_region": found.blamed,
        "advice": following,
        "next": _look(arguments, hot),
    }


def _stage(arguments: RegionDagArguments, found: KernelRegions) -> dict[str, object]:
    told = regions.stage(found.dag, str(arguments.name), arguments.offset)
    following = _following(arguments, len(told.regions), told.left_out)
    return {
        "stage": told,
        "next_offset": following,
        "next": _page(arguments, following),
        "advice": _more(following) or "view region with one of these names shows its PTX",
    }


def _region(arguments: RegionDagArguments, found: KernelRegions) -> dict[str, object]:
    told = regions.region(found.dag, str(arguments.name), arguments.offset)
    shown = len(told.ptx.splitlines())
    following = _following(arguments, shown, told.lines_left_out)
    return {
        "region": told,
        "next_offset": following,
        "next": _page(arguments, following),
        "advice": _more(following)
        or "ptx_for_source_span with these lines, or ptx_line, for the machine code",
    }


def _difference(
    bench: Workbench, arguments: RegionDagArguments, found: KernelRegions
) -> dict[str, object]:
    after = regions_of_variant(
        bench, str(arguments.other), arguments.workload, arguments.kernel, like=found.dag.entry
    )
    told = regions.difference(found.dag, after.dag, arguments.offset)
    lists = (told.changed, told.appeared, told.vanished)
    following = _following(arguments, max(map(len, lists)), told.left_out)
    changed = any(lists) or told.totals
    return {
        "difference": told,
        "hot_region": found.blamed,
        "touches_hot_region": _touched(found, after),
        **_machine_code(bench, arguments, found, after),
        "next_offset": following,
        "next": _page(arguments, following)
        or (call("time_variant", variant_id=str(arguments.other)),),
        "advice": _more(following)
        or (
            "time_variant says whether it pays"
            if changed
            else "no region differs in its work: addresses, the launch or the machine code may "
            "(ptx_for_source_span, compile_variant)"
        ),
    }


def _machine_code(
    bench: Bench, arguments: RegionDagArguments, before: KernelRegions, after: KernelRegions
) -> dict[str, object]:
    """The SASS of both kernels compared, on the first page; why not, where it cannot be."""
    if arguments.offset:
        return {}
    both = (arguments.variant_id, before.dag.entry), (str(arguments.other), after.dag.entry)
    codes = [
        code_of_variant(bench, name, arguments.workload, entry)[0].sass for name, entry in both
    ]
    found = sass_difference(*codes)
    return {"machine_code": found, "why_no_machine_code": NO_LISTING if found is None else None}


def _touched(before: KernelRegions, after: KernelRegions) -> str:
    if before.hot is None:
        return "no: the kernel is empty"
    found = touch(before.dag, before.hot.region, after.dag)
    return f"{'yes' if found.touched else 'no'}: {found.why}"


def _following(arguments: RegionDagArguments, shown: int, left: int) -> int | None:
    return arguments.offset + shown if left else None


def _look(arguments: RegionDagArguments, name: str) -> tuple[str, ...]:
    return (again("region_dag", arguments, view="region", name=name),) if name else ()


def _page(arguments: RegionDagArguments, following: int | None) -> tuple[str, ...]:
    return () if following is None else (again("region_dag", arguments, offset=following),)


def _more(following: int | None) -> str | None:
    return None if following is None else f"the same with offset {following} for more"


TOOL = Tool(
    name="region_dag",
    title="See the structure and work of a kernel",
    run=region_dag,
    arguments=RegionDagArguments,
    result=RegionDagResult,
    search_hint="structure of PTX: loops, barriers, regions, pipelines; what a change did to the "
    "code",
    read_only=False,
    work=True,
)
