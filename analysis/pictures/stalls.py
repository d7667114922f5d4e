"""What warps wait for between two instructions, as bars, before and after."""

from __future__ import annotations

import math

from pydantic import Field

from ...runners.errors import KernelwrightError
from ...runners.model import Record
from ...runners.profiling.model import KernelProfile
from ..profile import names as n
from ..rules.card import top_stalls
from . import svg

LEFT, RIGHT, TOP = 190.0, 690.0, 96.0
BAR, GAP = 15.0, 13.0
ROWS = 10
LEAST_SHARE = 0.01
"""of all waiting of a run: real profiles have a dozen reasons, most of them next to nothing"""
EVERY = 1000
"""more reasons than any GPU has"""
LEAST = 1e-9
COLOURS = (svg.SKY, svg.BLUE)


class Bars(Record):
    """One run: cycles that a warp waits between two instructions, by the reason."""

    label: str
    cycles: dict[str, float]


class StallChart(Record):
    """All that the picture shows; the first of two runs is the one before."""

    title: str
    runs: tuple[Bars, ...] = Field(min_length=1, max_length=2)


def bars(label: str, launch: KernelProfile) -> Bars:
    """The bars of one launch. Raises KernelwrightError where stalls were not collected."""
    latency = launch.number(n.LATENCY)
    shares = top_stalls(launch, EVERY)
    if not latency or not shares:
        raise KernelwrightError(
            f"the profile of {launch.name} says nothing of stalls",
            valid=f"a report with the section {n.section(n.LATENCY)}",
            next_step="profile with that section, or with ncu_summary here",
        )
    return Bars(label=label, cycles={reason: share * latency for reason, share in shares})


def stalls_svg(found: StallChart) -> str:
    """The picture: a row a reason, the longest wait first; those that are left out are added up."""
    rows = _rows(found)
    height = TOP + len(rows) * _row_height(found) + 60
    bottom = height - 60
    most = max((value for _, values in rows for value in values), default=0.0)
    step = _step(most)
    scale = (RIGHT - LEFT) / (step * max(1, math.ceil(most / step)))
    title = svg.text(20, 28, svg.fitting(found.title, 760, 15, bold=True), size=15, bold=True)
    body = [title, *_legend(found), *_grid(step, scale, bottom)]
    for number, (reason, values) in enumerate(rows):
        body += _row(found, reason, values, TOP + number * _row_height(found), scale)
    return svg.document(height, body, f"What warps wait for: {found.title}")


def _rows(found: StallChart) -> list[tuple[str, list[float]]]:
    reasons = {reason for run in found.runs for reason in run.cycles}
    values = {r: [run.cycles.get(r, 0.0) for run in found.runs] for r in reasons}
    ranked = sorted(values.items(), key=lambda row: (-max(row[1]), row[0]))
    notable = [row for row in ranked if _is_notable(found, row[0])]
    if len(ranked) <= min(len(notable) + 1, ROWS):
        return ranked
    shown = notable[: ROWS - 1]
    rest = [row for row in ranked if row not in shown]
    others = [math.fsum(column) for column in zip(*(row[1] for row in rest), strict=True)]
    return [*shown, (f"{len(rest)} others", others)]


def _is_notable(found: StallChart, reason: str) -> bool:
    """Whether any run waits long enough for it to have a row of its own."""
    return any(
        run.cycles.get(reason, 0.0) > LEAST_SHARE * math.fsum(run.cycles.values())
        for run in found.runs
    )


def _row_height(found: StallChart) -> float:
    return len(found.runs) * BAR + GAP


def _row(
    found: StallChart, reason: str, values: list[float], top: float, scale: float
) -> list[str]:
    words = svg.fitting(reason.replace("_", " "), LEFT - 40, 13)
    middle = top + len(values) * BAR / 2
    shapes = [svg.text(LEFT - 10, middle + 4, words, size=13, anchor="end")]
    for number, (run, value) in enumerate(zip(found.runs, values, strict=True)):
        y = top + number * BAR
        shapes.append(svg.rect(LEFT, y, value * scale, BAR - 2, _colour(found, number)))
        total = sum(run.cycles.values())
        told = f"{value:.3g} ({value / total:.0%})" if total > LEAST else f"{value:.3g}"
        shapes.append(svg.text(LEFT + value * scale + 6, y + 11, told, size=11, fill=svg.FAINT))
    return shapes


def _grid(step: float, scale: float, bottom: float) -> list[str]:
    shapes = list[str]()
    for number in range(round((RIGHT - LEFT) / (step * scale)) + 1):
        x = LEFT + number * step * scale
        shapes.append(svg.line([(x, TOP - 10), (x, bottom)], svg.GRID))
        shapes.append(
            svg.text(x, bottom + 18, f"{number * step:g}", anchor="middle", fill=svg.FAINT)
        )
    words = "cycles a warp waits between two instructions (share of all waiting)"
    middle = (LEFT + RIGHT) / 2
    return [*shapes, svg.text(middle, bottom + 44, words, size=13, anchor="middle")]


def _legend(found: StallChart) -> list[str]:
    shapes, width = list[str](), 370
    for number, run in enumerate(found.runs):
        x = 20 + number * (width + 10)
        shapes.append(svg.rect(x, 46, 14, 14, _colour(found, number)))
        told = f"{run.label}, {sum(run.cycles.values()):.3g} cycles"
        shapes.append(svg.text(x + 22, 58, svg.fitting(told, width - 22, 13), size=13))
    return shapes


def _colour(found: StallChart, number: int) -> str:
    return COLOURS[number - len(found.runs) + len(COLOURS)]


def _step(most: float) -> float:
    """Of the axis: 1, 2 or 5 times a power of ten, four to ten steps."""
    if most <= LEAST:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most / 4))
    return next(power * m for m in (1.0, 2.0, 5.0, 10.0) if most / (power * m) <= 8)
