"""The hierarchical roofline as a picture (Yang, Kurth and Williams, 2020): a run is a row of marks,
one a level of memory, at its performance and at the operations a byte that crossed that level.

Roofs come from a measured copy or a datasheet. Where there is none for a level, its roof is implied
by NVIDIA's counter: if it reads 45 % of the peak, the roof lies 1/0.45 above the mark ("implied by
45 %"). Such roofs are dashed. That of a cache is a least one, as its counter is of the busiest of
its parts, and bytes may be another: profiles of an H200 that reach a fiftieth of a roof imply 4.81
TB/s of DRAM all alike (eight of them), and 2.2 to 12.2 TB/s of L2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from ...runners.errors import KernelwrightError
from ...runners.limits.limits import Peaks, Work
from ...runners.model import Record
from ..levels import Level, Where
from . import svg

HEIGHT = 480
LEFT, RIGHT, TOP, BOTTOM = 84.0, 546.0, 48.0, 416.0
LEGEND = 566.0
COLOURS: dict[Where, str] = {"DRAM": svg.BLUE, "L2": svg.GREEN, "L1": svg.PURPLE}
RADIUS: dict[Where, float] = {"DRAM": 6.0, "L2": 9.0, "L1": 12.0}
"""What streams moves as many bytes through L2 as through DRAM: then one mark lies in the other."""
_IMPLIED: dict[Where, str] = {"DRAM": "implied"}
RUNS = 2
LEAST_DECADES, TICKS = 2, 8


class Roof(Record):
    """A level of memory."""

    level: Where
    bytes_per_s: float = Field(gt=0)
    note: str
    """where the number is from"""
    implied: bool = False


class Peak(Record):
    """The operations that a unit can do."""

    name: str
    flops_per_s: float = Field(gt=0)
    note: str


class Mark(Record):
    """A run at one level."""

    level: Where
    flops_per_byte: float = Field(gt=0)
    flops_per_s: float = Field(gt=0)


class Run(Record):
    """What is drawn of one variant."""

    label: str
    marks: tuple[Mark, ...] = Field(min_length=1)
    note: str = ""


class RooflineChart(Record):
    """All that the picture shows; the first of two runs is the one before."""

    title: str
    roofs: tuple[Roof, ...] = ()
    peaks: tuple[Peak, ...] = ()
    runs: tuple[Run, ...] = Field(min_length=1, max_length=RUNS)


@dataclass(frozen=True, slots=True)
class Timed:
    """A run as it is known: what it must do, how long it takes, and its roofs."""

    label: str
    work: Work
    seconds: float
    levels: tuple[Level, ...]
    note: str = ""
    """where the time is from"""


def chart(title: str, runs: Sequence[Timed], peaks: Peaks | None) -> RooflineChart:
    """What there is to draw. Raises KernelwrightError where the contract declares no FLOPs, or
    neither bytes nor counters say how much is moved."""
    drawn = tuple(Run(label=each.label, marks=tuple(_marks(each)), note=each.note) for each in runs)
    roofs: dict[Where, Roof] = {each.level: each for each in _implied(runs)}
    if peaks is not None:
        roofs["DRAM"] = _roof_of(peaks)
    tops = () if peaks is None else (_peak_of(peaks),)
    ranked = sorted(roofs.values(), key=lambda roof: roof.bytes_per_s)
    return RooflineChart(title=title, roofs=tuple(ranked), peaks=tops, runs=drawn)


def _implied(runs: Sequence[Timed]) -> list[Roof]:
    """The roofs that counters imply, ascending: of several of a level the highest is the last."""
    found = [
        Roof(
            level=level.where,
            bytes_per_s=level.bytes / run.seconds / level.share,
            note=f"{_IMPLIED.get(level.where, 'at least,')} by {100 * level.share:.0f} %",
            implied=True,
        )
        for run in runs
        for level in run.levels
        if level.bytes and level.share
    ]
    return sorted(found, key=lambda roof: roof.bytes_per_s)


def _roof_of(peaks: Peaks) -> Roof:
    note = "measured copy" if peaks.source == "measured" else "datasheet"
    return Roof(level="DRAM", bytes_per_s=peaks.copy_bytes_per_s, note=note)


def _peak_of(peaks: Peaks) -> Peak:
    note = peaks.flops_source or peaks.source
    return Peak(name=peaks.flops_unit, flops_per_s=peaks.flops_per_s, note=note)


def _marks(run: Timed) -> list[Mark]:
    flops = run.work.flops
    if not flops:
        raise KernelwrightError(
            "a roofline needs the operations, and the contract declares none",
            valid="io.flops in the spec, an expression over its symbols",
            next_step="declare it and open the kernel again, or take picture stalls",
        )
    moved: list[tuple[Where, float]] = [
        (level.where, level.bytes) for level in run.levels if level.bytes
    ]
    if not moved and run.work.bytes:
        moved = [("DRAM", run.work.bytes)]
    if not moved:
        raise KernelwrightError(
            "a roofline needs bytes: there are no counters, and the contract declares none",
            valid="io.bytes in the spec, or a profile",
            next_step="declare them and open the kernel again, or profile where ncu works",
        )
    rate = flops / run.seconds
    return [Mark(level=w, flops_per_byte=flops / n, flops_per_s=rate) for w, n in moved]


def roofline_svg(found: RooflineChart) -> str:
    """The picture."""
    axes = _axes(found)
    title = svg.text(LEFT, 28, svg.fitting(found.title, 690, 15, bold=True), size=15, bold=True)
    body = [title, *_grid(axes), *_roofs(found, axes), *_runs(found, axes), *_legend(found)]
    return svg.document(HEIGHT, body, f"Roofline: {found.title}")


@dataclass(frozen=True, slots=True)
class _Axes:
    """Decades that are shown."""

    x: tuple[int, int]
    y: tuple[int, int]

    def at(self, flops_per_byte: float, flops_per_s: float) -> tuple[float, float]:
        """The place of a point, in pixels."""
        x = (math.log10(flops_per_byte) - self.x[0]) / (self.x[1] - self.x[0])
        y = (math.log10(flops_per_s) - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + x * (RIGHT - LEFT), BOTTOM - y * (BOTTOM - TOP)


def _axes(found: RooflineChart) -> _Axes:
    marks = [mark for run in found.runs for mark in run.marks]
    ridges = [p.flops_per_s / r.bytes_per_s for p in found.peaks for r in found.roofs]
    x = _decades([*(mark.flops_per_byte for mark in marks), *ridges])
    rates = [mark.flops_per_s for mark in marks] + [peak.flops_per_s for peak in found.peaks]
    roofs = [r.bytes_per_s * mark.flops_per_byte for r in found.roofs for mark in marks]
    top = max(rates) if found.peaks else max([*rates, *roofs])
    return _Axes(x, _decades([*(min(rate, top) for rate in [*rates, *roofs]), top]))


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Whole decades around the values, with a little room at both ends."""
    low = math.floor(math.log10(min(values)) - 0.15)
    high = math.ceil(math.log10(max(values)) + 0.15)
    return (low, max(high, low + LEAST_DECADES))


def _grid(axes: _Axes) -> list[str]:
    shapes = list[str]()
    every_x, every_y = (math.ceil((high - low) / TICKS) for low, high in (axes.x, axes.y))
    for decade in range(axes.x[0], axes.x[1] + 1, every_x):
        x, _ = axes.at(10.0**decade, 10.0 ** axes.y[0])
        shapes.append(svg.line([(x, TOP), (x, BOTTOM)], svg.GRID))
        shapes.append(svg.text(x, BOTTOM + 18, _number(decade), anchor="middle", fill=svg.FAINT))
    for decade in range(axes.y[0], axes.y[1] + 1, every_y):
        _, y = axes.at(10.0 ** axes.x[0], 10.0**decade)
        shapes.append(svg.line([(LEFT, y), (RIGHT, y)], svg.GRID))
        words = svg.quantity(10.0**decade, "").strip()
        shapes.append(svg.text(LEFT - 8, y + 4, words, anchor="end", fill=svg.FAINT))
    middle = (LEFT + RIGHT) / 2
    shapes.append(
        svg.text(middle, BOTTOM + 44, "arithmetic intensity, FLOP/byte", size=13, anchor="middle")
    )
    height = (TOP + BOTTOM) / 2
    shapes.append(
        svg.text(24, height, "performance, FLOP/s", size=13, anchor="middle", turned=True)
    )
    return shapes


def _number(decade: int) -> str:
    """A power of ten, as short as it can be said."""
    return f"{10.0**decade:g}" if -3 <= decade <= 4 else f"1e{decade}"


def _roofs(found: RooflineChart, axes: _Axes) -> list[str]:
    shapes = list[str]()
    left, right = 10.0 ** axes.x[0], 10.0 ** axes.x[1]
    bottom, top = 10.0 ** axes.y[0], 10.0 ** axes.y[1]
    ceiling = min(max((peak.flops_per_s for peak in found.peaks), default=top), top)
    for roof in found.roofs:
        start, end = max(left, bottom / roof.bytes_per_s), min(right, ceiling / roof.bytes_per_s)
        if start < end:
            points = [axes.at(x, x * roof.bytes_per_s) for x in (start, end)]
            dashes = "7 4" if roof.implied else ""
            shapes.append(svg.line(points, COLOURS.get(roof.level, svg.INK), 2.5, dashes))
    widest = max((roof.bytes_per_s for roof in found.roofs), default=0.0)
    for peak in found.peaks:
        start = max(left, peak.flops_per_s / widest) if widest else left
        points = [axes.at(x, peak.flops_per_s) for x in (min(start, right), right)]
        shapes.append(svg.line(points, svg.INK, 2.5))
    return shapes


def _runs(found: RooflineChart, axes: _Axes) -> list[str]:
    """Of marks at one place the smaller ones lie above, and rings above what is filled."""
    lines, marks = list[str](), list[tuple[bool, float, str]]()
    for number, run in enumerate(found.runs):
        filled = number == len(found.runs) - 1
        places = [axes.at(mark.flops_per_byte, mark.flops_per_s) for mark in run.marks]
        lines += _between(sorted(zip(places, run.marks, strict=True), key=lambda mark: mark[0]))
        for (x, y), mark in zip(places, run.marks, strict=True):
            colour, radius = COLOURS.get(mark.level, svg.INK), RADIUS.get(mark.level, 6.0)
            shape = svg.dot(x, y, colour, filled=filled, radius=radius)
            marks.append((not filled, -radius, shape))
    return [*lines, *(shape for _, _, shape in sorted(marks))]


def _between(marks: Sequence[tuple[tuple[float, float], Mark]]) -> list[str]:
    """What ties the marks of a run together: from rim to rim, as rings are seen through."""
    ((left, y), first), ((right, _), last) = marks[0], marks[-1]
    rims = [RADIUS.get(mark.level, 6.0) + svg.RING for mark in (first, last)]
    start, end = left + rims[0], right - rims[1]
    return [svg.line([(start, y), (end, y)], svg.FAINT, 1, "2 3")] if start < end else []


def _legend(found: RooflineChart) -> list[str]:
    """Everything that has a colour or a shape, beside the plot, where nothing can overlap."""
    shapes, y = list[str](), TOP + 8
    width = svg.WIDTH - LEGEND - 40
    for peak in found.peaks:
        shapes.append(svg.line([(LEGEND, y), (LEGEND + 22, y)], svg.INK, 2.5))
        rate = svg.quantity(peak.flops_per_s, "FLOP/s")
        y = _entry(shapes, y, peak.name, f"{rate}, {peak.note}", width)
    for roof in found.roofs:
        colour = COLOURS.get(roof.level, svg.INK)
        dashes = "7 4" if roof.implied else ""
        shapes.append(svg.line([(LEGEND, y), (LEGEND + 22, y)], colour, 2.5, dashes))
        rate = svg.quantity(roof.bytes_per_s, "B/s")
        y = _entry(shapes, y, roof.level, f"{rate}, {roof.note}", width)
    for number, run in enumerate(found.runs):
        shapes.append(svg.dot(LEGEND + 11, y, svg.INK, filled=number == len(found.runs) - 1))
        rate = svg.quantity(run.marks[0].flops_per_s, "FLOP/s")
        y = _entry(shapes, y, run.label, ", ".join(filter(None, (rate, run.note))), width)
    return shapes


def _entry(shapes: list[str], y: float, words: str, note: str, width: float) -> float:
    """Words beside a symbol at `y`, a note beneath; where the next symbol is."""
    shapes.append(svg.text(LEGEND + 32, y + 4, svg.fitting(words, width, 13), size=13))
    shapes.append(
        svg.text(LEGEND + 32, y + 20, svg.fitting(note, width, 11), size=11, fill=svg.FAINT)
    )
    return y + 44
