"""Launches by the work that they do, their shares, and what a faster one could gain."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.analysis.programs.gains import amdahl, representative, shares
from kernelwright.analysis.programs.groups import Grouped, grouped
from kernelwright.analysis.programs.report import program_report, report_text, timeline_text
from kernelwright.runners.recording.recorded import (
    Configuration,
    Elsewhere,
    Function,
    Recording,
)


def configuration(
    number: int, times: list[int], *, name: str = "k", captured: int = 0, count: int | None = None
) -> Configuration:
    function = Function(number, name, len(times), "image", 1, ((0, 8),))
    return Configuration(
        id=number,
        function=function,
        grid=(8, 1, 1),
        block=(128, 1, 1),
        shared=0,
        attributes=(),
        scalars="",
        merged=False,
        count=len(times) + captured if count is None else count,
        captured=captured,
        first=1,
        first_plain=1,
        timed=len(times),
        sum_ns=sum(times),
        times=tuple((i + 1, ns) for i, ns in enumerate(times)),
    )


def recording(*configurations: Configuration, elsewhere: tuple[Elsewhere, ...] = ()) -> Recording:
    summary = {
        "front": "cupti",
        "seconds": 1.0,
        "launches": sum(c.count for c in configurations),
        "graph_launches": 0,
        "ended": True,
        "records_dropped": 0,
        "devices": [{"index": 0, "uuid": "", "name": "H100"}],
        "transfers": [],
        "timeline": {"span_ns": 10_000, "width_ns": 5_000, "busy_ns": [5_000, 2_500]},
    }
    functions = tuple(c.function for c in configurations)
    return Recording(Path("/nowhere"), summary, functions, configurations, elsewhere, ())


def test_two_kinds_of_work_in_one_grid_are_told_apart_by_their_times() -> None:
    found = grouped(recording(configuration(0, [97, 359] * 10)))
    assert [(g.bucket, g.count, round(g.sum_ns)) for g in found.groups] == [
        ("slow", 10, 3590),
        ("fast", 10, 970),
    ]
    slow, fast = found.groups
    assert (slow.ordinal % 2, fast.ordinal % 2) == (0, 1)  # a launch of its own kind stands for it


def test_a_single_slow_launch_is_no_kind_of_work() -> None:
    found = grouped(recording(configuration(0, [100] * 40 + [900])))
    assert [g.bucket for g in found.groups] == ["all"]


def test_time_in_graphs_goes_to_what_was_captured() -> None:
    inside = Elsewhere("k", (8, 1, 1), (128, 1, 1), 0, True, 30, 3000)
    stranger = Elsewhere("other", (1, 1, 1), (32, 1, 1), 0, True, 1, 50)
    found = grouped(recording(configuration(0, [100], captured=1), elsewhere=(inside, stranger)))
    (group,) = found.groups
    assert (group.count, group.in_graphs, group.sum_ns) == (31, 30, 3100)
    assert [(u.name, u.sum_ns) for u in found.unplaced] == [("other", 50)]
    assert found.total_ns == 3150


def test_dropped_records_count_as_long_as_the_others() -> None:
    found = grouped(recording(configuration(0, [100] * 10, count=20)))
    assert found.groups[0].sum_ns == 2000


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=20))
def test_shares_add_up_and_the_representative_ones_cover(times: list[int]) -> None:
    found = shares(grouped(recording(*(configuration(i, [ns]) for i, ns in enumerate(times)))))
    assert math.isclose(sum(s.share for s in found), 1)
    assert [s.share for s in found] == sorted((s.share for s in found), reverse=True)
    chosen = representative(found)
    assert sum(s.share for s in chosen) >= 0.9 - 1e-9
    assert sum(s.share for s in chosen[:-1]) < 0.9


@given(st.floats(0, 1), st.floats(1, 1e6))
def test_the_whole_gains_no_more_than_the_part_and_no_more_than_its_share_allows(
    share: float, speedup: float
) -> None:
    whole = amdahl(share, speedup)
    assert 1 - 1e-9 <= whole <= speedup * (1 + 1e-9)
    assert whole <= amdahl(share, math.inf) * (1 + 1e-9)


def test_a_kernel_of_28_percent_gains_at_most_1_39() -> None:
    assert amdahl(0.28, math.inf) == pytest.approx(1.389, abs=1e-3)


def test_nothing_launched_has_no_shares() -> None:
    assert shares(Grouped((), ())) == ()


def test_a_program_that_waits_for_its_host_is_told_so() -> None:
    report = program_report(recording(configuration(0, [3000])), ["./prog"], {"k": "pretty"})
    assert report.busy == pytest.approx(0.3)
    assert "the host (launches, synchronisation, data) bounds this program" in report.advice
    text = report_text(report)
    assert "pretty" in text
    assert "100.0%" in text


def test_a_program_on_two_gpus_is_told_how_to_use_one() -> None:
    found = recording(configuration(0, [3000]))
    two = {**found.summary, "devices": [{"index": 0}, {"index": 1}]}
    both = Recording(found.folder, two, found.functions, found.configurations, (), ())
    assert "CUDA_VISIBLE_DEVICES" in report_text(program_report(both, ["./prog"], {}))


def test_the_timeline_shows_where_the_gpu_worked() -> None:
    assert timeline_text((0.0, 0.5, 1.0)) == " ▄█"


def test_launches_without_a_time_count_as_long_as_those_of_their_kind() -> None:
    found = grouped(recording(configuration(0, [97, 359] * 10, count=40)))
    assert [(g.bucket, g.count, round(g.sum_ns)) for g in found.groups] == [
        ("slow", 20, 7180),
        ("fast", 20, 1940),
    ]


def test_a_report_says_how_many_launches_were_timed_and_shows_only_where_they_were() -> None:
    some = recording(configuration(0, [100] * 10, count=40))
    timeline = {**some.summary["timeline"], "looked_ns": [5_000, 0]}
    report = program_report(
        replace(some, summary={**some.summary, "timeline": timeline}), ["prog"], {}
    )
    assert report.timeline == (1.0, 1.0)  # nobody looked at the second stretch
    assert "10 of 40 launches" in report.problems["times"]
    assert "times" not in program_report(recording(configuration(0, [100])), ["prog"], {}).problems
