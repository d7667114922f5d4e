"""The verb `ncu_summary`: what bounds a GPU kernel, why, and what to do, from its counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from ..evaluation.evidence.profiles import (
    Profiled,
    import_for_variant,
    import_profile,
    profile_variant,
    with_instances,
    workload_of,
)
from ..runners.errors import CountersMissing, DeviceMissing, KernelwrightError, ToolchainMissing
from ..runners.model import Record
from .base import Tool, WorkArguments
from .parts.calls import again, call

if TYPE_CHECKING:
    from ..analysis.roofline import Roofline
    from ..analysis.rules.model import Facts
    from ..runners.profiling.model import KernelProfile, Profile
    from ..search.session.workbench import Workbench

MAX_SKILLS, MAX_METRICS, MAX_INSTANCES = 5, 25, 25


class NcuSummaryArguments(WorkArguments):
    """A variant to profile, or a report; and perhaps a metric of it."""

    variant_id: str | None = None
    """a GPU variant; with report, the one whose launches there count"""
    workload: str | None = None
    """default: the first visible one"""
    report: str | None = None
    """a .ncu-rep file in place of a profile made here; with variant_id it is kept for it"""
    metric: str | None = None
    """exact name: its value in every launch"""
    metrics: tuple[str, ...] | None = Field(default=None, min_length=1, max_length=MAX_METRICS)
    """exact names, or short ones of the summary's `canonical`"""
    search: str | None = Field(default=None, min_length=2)
    """metrics whose names hold all of these words"""
    full: bool = False
    """collect everything: three times as long"""
    again: bool = False
    """profile anew, in place of an earlier profile"""
    picture: Literal["roofline", "stalls"] | None = None
    """an SVG file beside the summary: the roofline (needs variant_id), or what warps wait for"""

    @model_validator(mode="after")
    def _has_a_subject(self) -> NcuSummaryArguments:
        if self.variant_id is None and self.report is None:
            raise ValueError("give variant_id or report")
        if sum(x is not None for x in (self.metric, self.metrics, self.search)) > 1:
            raise ValueError("give one of metric, metrics and search")
        if self.picture is not None and (self.metric or self.metrics or self.search):
            raise ValueError("a picture comes with the summary: leave metric and search out")
        if self.report is not None and (self.full or self.again):
            raise ValueError("full and again profile here: leave report out")
        return self


class MetricRow(Record):
    """One metric of one launch."""

    kernel: str
    name: str
    value: float | str
    unit: str = ""
    instances: dict[str, float] | None = None
    """the largest ones"""


class NcuSummary(Record):
    """A page on the profile, or the metrics that were asked for."""

    variant_id: str | None = None
    workload: str | None = None
    report: str | None = None
    """where the .ncu-rep file lies, which Nsight Compute opens; null: nothing was profiled"""
    summary: tuple[str, ...] = ()
    """bottleneck, roofs, numbers, findings with what to do, NVIDIA's advice"""
    skills: tuple[str, ...] = ()
    """pages on what fired, the first one first"""
    picture: str | None = None
    """where the picture lies, as SVG"""
    image: str | None = None
    """where it lies as PNG, which clients over MCP are sent as well"""
    why_no_image: str | None = None
    canonical: dict[str, float] | None = None
    """with the summary: of the longest launch, by names that are the same for every GPU and version
    of Nsight Compute; what was not collected is left out"""
    metrics: tuple[MetricRow, ...] | None = None
    without_counters: str | None = None
    """why there are no counters; the summary is then of plan, compiler, PTX and measured time"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def ncu_summary(bench: Workbench, arguments: NcuSummaryArguments) -> NcuSummary:
    """Profile a GPU variant with Nsight Compute and say what bounds it, why, and what to do.

    One page: bottleneck, headroom of each roof, findings ranked, lines to blame. Or read a report
    made elsewhere, without a GPU. metric, metrics and search give any other number. Its durations
    are no times. Not for host C++. Takes 5 to 20 s, 1 s once kept.
    Example: {"variant_id": "v0123456789ab"}
    """
    if arguments.report is not None and arguments.variant_id is None:
        return _told(bench, arguments, import_profile(bench, arguments.report), None)
    variant_id = str(arguments.variant_id)
    workload = workload_of(bench, variant_id, arguments.workload)
    if arguments.report is not None:
        profiled = import_for_variant(bench, arguments.report, variant_id, workload)
        return _told(bench, arguments, profiled, workload)
    try:
        profiled = profile_variant(
            bench, variant_id, workload, full=arguments.full, again=arguments.again
        )
    except (DeviceMissing, CountersMissing, ToolchainMissing) as error:
        return _without_counters(bench, arguments, workload, error)
    return _told(bench, arguments, profiled, workload)


def _told(
    bench: Workbench, arguments: NcuSummaryArguments, profiled: Profiled, workload: str | None
) -> NcuSummary:
    from ..analysis.profile.canonical import canonical
    from ..analysis.rules.card import card
    from ..analysis.rules.findings import findings

    result = NcuSummary(
        variant_id=arguments.variant_id,
        workload=workload,
        report=str(profiled.report),
        advice="",
    )
    if arguments.metric or arguments.metrics or arguments.search is not None:
        rows = _rows(bench, arguments, profiled)
        following = "leave metric and search out for the summary"
        whole = again("ncu_summary", arguments, metric=None, metrics=None, search=None)
        return result.model_copy(update={"metrics": rows, "advice": following, "next": (whole,)})
    found = findings(profiled.profile, _facts(bench, arguments.variant_id, arguments.workload))
    page = (*_left_out(profiled), *card(profiled.profile, found).splitlines())
    skills = tuple(dict.fromkeys(f.skill for f in found.ranked))[:MAX_SKILLS]
    following = "nothing stands out; search finds any metric by words"
    if skills:
        following = f"the skill {skills[0]} explains the first finding; change what it "
        following += "names, then compile_variant and time_variant"
    drawn = _picture(bench, arguments, profiled.profile)
    numbers = canonical(_longest(profiled.profile.launches))
    update = {"summary": page, "skills": skills, "canonical": numbers, "advice": following}
    update |= {"next": _pages(skills)}
    return result.model_copy(update=update | drawn)


def _pages(skills: Sequence[str]) -> tuple[str, ...]:
    return tuple(call("inspect", what="skill", id=skill) for skill in skills)


def _left_out(profiled: Profiled) -> tuple[str, ...]:
    if profiled.places is None:
        return ()
    count = len(profiled.profile.launches)
    told = "1 launch" if count == 1 else f"{count} launches"
    return (f"{told} of this variant; the report's other launches are left out",)


def _rows(
    bench: Workbench, arguments: NcuSummaryArguments, profiled: Profiled
) -> tuple[MetricRow, ...]:
    from ..analysis.profile.canonical import CANONICAL
    from ..analysis.profile.metrics import metric, search

    launches = profiled.profile.launches
    if arguments.search is not None:
        longest = _longest(launches)
        found = search(longest, arguments.search, MAX_METRICS)
        return tuple(_row(longest, name, with_instances=False) for name in found)
    if arguments.metrics is not None:
        wanted = [CANONICAL.get(each, each) for each in arguments.metrics]
        for each in wanted:
            metric(_longest(launches), each)
        pairs = ((launch, each) for launch in launches for each in wanted)
        known = [(launch, each) for launch, each in pairs if each in launch.metrics]
        return tuple(_row(*pair, with_instances=False) for pair in known[: 2 * MAX_METRICS])
    name = str(arguments.metric)
    for each in launches:
        metric(each, name)  # says what is spelt alike
    launches = with_instances(bench, profiled, name).launches
    return tuple(_row(each, name, with_instances=True) for each in launches[:MAX_METRICS])


def _longest(launches: Sequence[KernelProfile]) -> KernelProfile:
    return max(launches, key=lambda each: each.nanoseconds or 0.0)


def _row(launch: KernelProfile, name: str, *, with_instances: bool) -> MetricRow:
    metric = launch.metrics[name]
    ranked = sorted(metric.instances.items(), key=lambda each: -each[1])[:MAX_INSTANCES]
    return MetricRow(
        kernel=launch.name,
        name=name,
        value=metric.value,
        unit=metric.unit,
        instances=dict(ranked) if with_instances and len(ranked) > 1 else None,
    )


def _facts(bench: Workbench, variant_id: str | None, workload: str | None) -> Facts | None:
    """What the contract says; of a report that belongs to no variant nothing is known."""
    from ..evaluation.evidence.evidence import facts_for

    if variant_id is None:
        return None
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    return facts_for(kernel, workload_of(bench, variant_id, workload))


def _picture(
    bench: Workbench, arguments: NcuSummaryArguments, profile: Profile | None
) -> dict[str, str | None]:
    """The fields on the picture that was asked for. Raises KernelwrightError (`pictures.draw`)."""
    from .parts.pictures import draw

    if arguments.picture is None:
        return {}
    variant_id = arguments.variant_id
    label = None if variant_id is None else workload_of(bench, variant_id, arguments.workload)
    drawn = draw(bench, arguments.picture, profile, variant_id, label)
    return {
        "picture": str(drawn.svg),
        "image": None if drawn.png is None else str(drawn.png),
        "why_no_image": drawn.why_no_png or None,
    }


def _without_counters(
    bench: Workbench, arguments: NcuSummaryArguments, workload: str, error: KernelwrightError
) -> NcuSummary:
    """What plan, compiler, PTX and a measured time say. Raises the error where they say nothing."""
    from ..analysis.rules.card import card
    from ..evaluation.evidence.static_findings import static_findings

    variant_id = str(arguments.variant_id)
    unrun = static_findings(bench, variant_id, workload, _timed(bench, variant_id, workload))
    if unrun is None:
        raise error
    result = NcuSummary(
        variant_id=variant_id,
        workload=workload,
        report=None,
        summary=(*card(unrun.profile, unrun.found).splitlines(), *unrun.unread),
        skills=tuple(dict.fromkeys(f.skill for f in unrun.found.ranked))[:MAX_SKILLS],
        without_counters=str(error),
        advice="with a report made elsewhere (report), or where ncu works, there is more",
    )
    result = result.model_copy(update={"next": _pages(result.skills)})
    return result.model_copy(update=_picture(bench, arguments, None))


def _timed(bench: Workbench, variant_id: str, workload: str) -> Roofline | None:
    """The roofline of the variant's measured time; None where it was not timed."""
    from ..evaluation.evidence.evidence import timed_roofline
    from ..evaluation.evidence.headroom import peaks_for

    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    try:
        peaks = peaks_for(bench, kernel)
    except KernelwrightError:  # what kept counters away says more to the reader
        return None
    return timed_roofline(bench, kernel, variant_id, workload, peaks)


TOOL = Tool(
    name="ncu_summary",
    title="See what bounds a GPU kernel",
    run=ncu_summary,
    arguments=NcuSummaryArguments,
    result=NcuSummary,
    search_hint="profile with Nsight Compute: bottleneck, why is the GPU kernel slow, counters, "
    "roofline",
    read_only=False,
    work=True,
)
