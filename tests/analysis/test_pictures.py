"""Pictures: what is drawn where, what is told when it cannot be drawn, and nothing overlaps."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import PLANTED, planted_launch, profile
from profiles import launch

from kernelwright.analysis.levels import Level, levels
from kernelwright.analysis.pictures import svg
from kernelwright.analysis.pictures.roofline import Timed, chart, roofline_svg
from kernelwright.analysis.pictures.stalls import Bars, StallChart, bars, stalls_svg
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.limits.limits import Peaks, Work

PEAKS = Peaks(
    copy_bytes_per_s=3e12,
    flops_per_s=6e13,
    source="measured",
    flops_source="datasheet",
    device="a GPU",
    method="by hand",
)
WORK = Work(bytes=1e9, flops=2e10)
positive = st.floats(min_value=1e-3, max_value=1e15)
NS = "{http://www.w3.org/2000/svg}"


def shapes(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def words(picture: str) -> list[str]:
    return [each.text or "" for each in shapes(picture).iter(f"{NS}text")]


def boxes(picture: str) -> list[tuple[float, float, float, float, str]]:
    """Of each line of text that is not turned: left, top, right, bottom, as if it were wide."""
    found = list[tuple[float, float, float, float, str]]()
    for each in shapes(picture).iter(f"{NS}text"):
        if "transform" in each.attrib:
            continue
        told, size = each.text or "", float(each.attrib["font-size"])
        wide = svg.BOLD if "font-weight" in each.attrib else svg.CHARACTER
        width, x, y = len(told) * wide * size, float(each.attrib["x"]), float(each.attrib["y"])
        left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[each.attrib["text-anchor"]]
        found.append((left, y - 0.75 * size, left + width, y + 0.2 * size, told))
    return found


def assert_readable(picture: str) -> None:
    """All text lies within the picture, and no two texts overlap."""
    height = float(shapes(picture).attrib["height"])
    found = boxes(picture)
    for left, top, right, bottom, told in found:
        assert 0 <= left and right <= svg.WIDTH and 0 <= top and bottom <= height, told
    for one, other in combinations(found, 2):
        beside = one[2] <= other[0] or other[2] <= one[0]
        above = one[3] <= other[1] or other[3] <= one[1]
        assert beside or above, f"{one[4]} overlaps {other[4]}"


def timed(label: str, seconds: float, *, work: Work = WORK, counted: bool = True) -> Timed:
    found = levels(profile(PLANTED["tail_effect"]), work, None) if counted else ()
    return Timed(label, work, seconds, found, "measured")


# --- roofline


def test_a_run_is_a_row_of_marks_at_its_performance_one_a_level() -> None:
    found = chart("sgemm", [timed("v1", 1e-3)], PEAKS)
    marks = {mark.level: mark for mark in found.runs[0].marks}
    assert set(marks) == {"DRAM", "L2"}
    assert {mark.flops_per_s for mark in marks.values()} == {2e13}
    assert marks["DRAM"].flops_per_byte == pytest.approx(2e10 / 1e9)


def test_roofs_are_measured_where_they_were_and_else_implied_by_counters() -> None:
    roofs = {roof.level: roof for roof in chart("k", [timed("v1", 1e-3)], PEAKS).roofs}
    assert roofs["DRAM"].bytes_per_s == 3e12 and not roofs["DRAM"].implied
    assert roofs["L2"].implied and roofs["L2"].bytes_per_s == pytest.approx(1e9 / 1e-3 / 0.5)
    without = {roof.level: roof for roof in chart("k", [timed("v1", 1e-3)], None).roofs}
    assert without["DRAM"].implied and without["DRAM"].bytes_per_s == pytest.approx(1e12 / 0.6)


def test_no_mark_lies_above_an_implied_roof() -> None:
    found = chart("k", [timed("before", 3e-3), timed("after", 1e-3)], None)
    roofs = {roof.level: roof.bytes_per_s for roof in found.roofs}
    for run in found.runs:
        for mark in run.marks:
            assert mark.flops_per_s <= roofs[mark.level] * mark.flops_per_byte * (1 + 1e-9)


def test_without_counters_the_declared_bytes_are_those_of_dram() -> None:
    (mark,) = chart("k", [timed("v1", 1e-3, counted=False)], PEAKS).runs[0].marks
    assert (mark.level, mark.flops_per_byte) == ("DRAM", 20)


@pytest.mark.parametrize(
    ("work", "said"),
    [(Work(bytes=1e9), r"io\.flops in the spec"), (Work(flops=1e9), r"io\.bytes in the spec")],
)
def test_what_is_not_declared_is_asked_for(work: Work, said: str) -> None:
    with pytest.raises(KernelwrightError, match=said):
        chart("k", [timed("v1", 1e-3, work=work, counted=False)], PEAKS)


def circles(picture: str) -> list[tuple[str, float]]:
    """Of each mark its fill and radius, those of the legend last."""
    return [(e.attrib["fill"], float(e.attrib["r"])) for e in shapes(picture).iter(f"{NS}circle")]


def test_before_is_a_ring_and_after_is_filled() -> None:
    picture = roofline_svg(chart("k", [timed("before", 3e-3), timed("after", 1e-3)], PEAKS))
    fills = [fill for fill, _ in circles(picture)]
    assert fills == [svg.GREEN, svg.BLUE, "none", "none", "none", svg.INK]


def test_marks_at_one_place_can_all_be_seen() -> None:
    picture = roofline_svg(chart("k", [timed("before", 1e-3), timed("after", 1e-3)], PEAKS))
    filled, rings = circles(picture)[:2], circles(picture)[2:4]
    assert filled[0][1] > filled[1][1], "what is drawn later is smaller"
    assert all(ring[1] > mark[1] for ring, mark in zip(rings, filled, strict=True))


def test_both_axes_say_what_they_measure_and_every_roof_its_number() -> None:
    told = words(roofline_svg(chart("sgemm", [timed("v1", 1e-3)], PEAKS)))
    assert {"arithmetic intensity, FLOP/byte", "performance, FLOP/s"} <= set(told)
    assert {"3 TB/s, measured copy", "2 TB/s, at least, by 50 %", "60 TFLOP/s, datasheet"} <= set(
        told
    )
    assert {"sgemm", "v1", "20 TFLOP/s, measured", "10 T"} <= set(told)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=2), st.booleans())
def test_a_roofline_of_any_numbers_is_readable_and_keeps_its_marks_in_the_plot(
    runs: list[tuple[float, float, float]], with_peaks: bool
) -> None:
    drawn = [
        Timed(
            "a variant with a long name " * 3,
            Work(bytes=nbytes, flops=flops),
            seconds,
            (Level(where="L2", share=0.5, bytes=3 * nbytes),),
            "under ncu",
        )
        for nbytes, flops, seconds in runs
    ]
    picture = roofline_svg(chart("k" * 300, drawn, PEAKS if with_peaks else None))
    assert_readable(picture)
    for circle in shapes(picture).iter(f"{NS}circle"):
        x, y = float(circle.attrib["cx"]), float(circle.attrib["cy"])
        assert 84 <= x <= 800 and 48 <= y <= 416


def test_marks_are_tied_from_rim_to_rim() -> None:
    """A line through a ring would look like a part of the mark."""
    both = (Level(where="L2", share=0.5, bytes=5e9), Level(where="DRAM", share=0.3, bytes=5e8))
    drawn = [Timed("v1", WORK, 1e-3, both), Timed("v2", WORK, 5e-4, both)]
    picture = shapes(roofline_svg(chart("k", drawn, PEAKS)))
    circles = [
        [float(c.attrib[key]) for key in ("cx", "cy", "r")] for c in picture.iter(f"{NS}circle")
    ]
    drawn_lines = picture.iter(f"{NS}polyline")
    ties = [e.attrib["points"] for e in drawn_lines if e.get("stroke-dasharray") == "2 3"]
    assert len(ties) == 2
    for tie in ties:
        for end in tie.split():
            x, y = (float(part) for part in end.split(","))
            gaps = [math.hypot(x - left, y - top) - radius for left, top, radius in circles]
            assert -0.2 < min(gaps) < 5


# --- stalls


def test_waits_are_cycles_by_reason_without_those_that_issue() -> None:
    found = bars("v1", planted_launch(PLANTED["stall_barrier"]))
    assert found.cycles["barrier"] == pytest.approx(12)
    assert "selected" not in found.cycles and "not_selected" not in found.cycles


def test_the_longest_wait_comes_first_with_its_share_and_the_rest_is_added_up() -> None:
    found = bars("v1", planted_launch(PLANTED["stall_barrier"]))
    told = words(stalls_svg(StallChart(title="k", runs=(found,))))
    share = 12 / math.fsum(found.cycles.values())
    assert f"12 ({share:.0%})" in told
    reasons = [each for each in told if each.replace(" ", "_") in found.cycles]
    assert reasons[0] == "barrier" and len(reasons) == 9
    assert f"{len(found.cycles) - 9} others" in told


def test_reasons_of_next_to_nothing_share_a_row() -> None:
    """0.9 is little of 200 cycles, and a ninth of 8."""
    before = Bars(label="before", cycles={"wait": 199.0, "drain": 1.5, "misc": 0.5, "membar": 0.1})
    after = Bars(label="after", cycles={"wait": 7.0, "misc": 0.9, "drain": 0.01})
    told = words(stalls_svg(StallChart(title="k", runs=(before, after))))
    assert [each for each in told if each in (*before.cycles, "2 others")] == [
        "wait",
        "misc",
        "2 others",
    ]


def test_a_reason_that_is_gone_is_drawn_as_nothing() -> None:
    chart_ = StallChart(
        title="k",
        runs=(Bars(label="before", cycles={"wait": 2.0}), Bars(label="after", cycles={})),
    )
    told = words(stalls_svg(chart_))
    assert "2 (100%)" in told and "0" in told


def test_a_profile_without_stalls_says_which_section_has_them() -> None:
    with pytest.raises(KernelwrightError, match="WarpStateStats"):
        bars("v1", launch({}))


cycles = st.dictionaries(
    st.from_regex(r"[a-z_]{1,40}", fullmatch=True),
    st.floats(min_value=0, max_value=1e6),
    max_size=25,
)


@given(st.lists(cycles, min_size=1, max_size=2))
def test_stalls_of_any_numbers_are_readable(found: list[dict[str, float]]) -> None:
    runs = tuple(Bars(label="a variant with a long name " * 3, cycles=each) for each in found)
    assert_readable(stalls_svg(StallChart(title="k" * 300, runs=runs)))


# --- text


@given(st.text())
def test_any_name_makes_a_well_formed_picture(name: str) -> None:
    picture = roofline_svg(chart(name, [timed(name or "v", 1e-3)], PEAKS))
    assert shapes(picture).tag == f"{NS}svg"


def test_names_are_text_and_never_markup() -> None:
    name = "<script>alert(1)</script>&\x00"
    picture = roofline_svg(chart(name, [timed("v", 1e-3)], PEAKS))
    assert "<script" not in picture and words(picture)[0] == "<script>alert(1)</script>&?"


def test_a_picture_brings_its_own_background() -> None:
    first = next(shapes(roofline_svg(chart("k", [timed("v", 1e-3)], PEAKS))).iter(f"{NS}rect"))
    assert first.attrib["fill"] == svg.PAPER
    assert float(first.attrib["width"]) == svg.WIDTH - 1
