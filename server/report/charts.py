"""The curve of the incumbent as SVG, drawn by hand: a stair with an interval at each step.

Colours come from the page (`page.css`), so that one picture serves light and dark. It is 480 units
wide, so that its letters can be read on 400 px and are not large on 1600.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from .facts import Point, speedup_words

WIDTH, HEIGHT = 480.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 462.0, 18.0, 236.0
STEPS = (1, 2, 5)
MOST_TICKS = 6
LOG_FROM = 4.0
"""the largest over the least speedup from which the axis is logarithmic"""

Scale = Callable[[float], float]


def curve(points: Sequence[Point], ends: float, what: str, at: Callable[[Point], float]) -> str:
    """The picture. `at`: where a point lies along `what`, of which `ends` was spent in all."""
    highs = [_high(point) for point in points]
    lows = [_low(point) for point in points]
    most, least = max(highs), min(1.0, *lows)
    y = _logarithmic(least, most) if most / least >= LOG_FROM else _linear(least, most)
    ticks = _log_ticks(least, most) if most / least >= LOG_FROM else _nice(least, most)
    width = ends or 1.0

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * value / width

    best = points[-1]
    told = (
        f"from 1x at the start to {speedup_words(best.speedup)}, first reached after "
        f"{at(best):.4g} of {ends:.4g} {what}, in {len(points) - 1} steps"
    )
    ident = f"curve-{what}"
    body = [
        *(_across(value, y(value)) for value in ticks),
        *(_below(value, x(value), what) for value in _nice(0, width)),
        f'<path class="stair" d="{_stair(points, x, y, at, ends)}"/>',
        *(_mark(point, x(at(point)), y) for point in points[1:]),
        f'<text class="axis" x="{RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{what}</text>',
        f'<text class="axis" x="6" y="{TOP - 5}">speedup</text>',
    ]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
            f'aria-labelledby="{ident}-t {ident}-d">',
            f'<title id="{ident}-t">Speedup of the incumbent over {what}</title>',
            f'<desc id="{ident}-d">{escape(told)}</desc>',
            *body,
            "</svg>",
        ]
    )


def _stair(
    points: Sequence[Point], x: Scale, y: Scale, at: Callable[[Point], float], ends: float
) -> str:
    path = f"M{x(at(points[0])):.1f} {y(points[0].speedup.value):.1f}"
    for point in points[1:]:
        path += f"H{x(at(point)):.1f}V{y(point.speedup.value):.1f}"
    return path + f"H{x(ends):.1f}"


def _mark(point: Point, x: float, y: Scale) -> str:
    low, high = y(_low(point)), y(_high(point))
    bar = f'<line class="interval" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
    told = escape(f"{point.method}: {speedup_words(point.speedup)}")
    dot = f'<circle class="dot" cx="{x:.1f}" cy="{y(point.speedup.value):.1f}" r="4">'
    return f"{bar}{dot}<title>{told}</title></circle>"


def _across(value: float, y: float) -> str:
    line = f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    label = f'<text class="axis" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}x</text>'
    return line + label


def _below(value: float, x: float, what: str) -> str:
    words = f"${value:g}" if what == "dollars" else f"{value:g}"
    place = f'x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle"'
    return f'<text class="axis" {place}>{words}</text>'


def _low(point: Point) -> float:
    return point.speedup.interval[0] if point.speedup.interval else point.speedup.value


def _high(point: Point) -> float:
    return point.speedup.interval[1] if point.speedup.interval else point.speedup.value


def _linear(least: float, most: float) -> Scale:
    span = (most - least) or 1.0
    return lambda value: BOTTOM - (BOTTOM - TOP) * (value - least) / span


def _logarithmic(least: float, most: float) -> Scale:
    low, span = math.log2(least), math.log2(most / least)
    return lambda value: BOTTOM - (BOTTOM - TOP) * (math.log2(value) - low) / span


def _log_ticks(least: float, most: float) -> list[float]:
    """Powers of two, thinned until there is room."""
    powers = list(range(math.ceil(math.log2(least)), math.floor(math.log2(most)) + 1))
    every = math.ceil(len(powers) / MOST_TICKS)
    return [2.0**power for power in powers if power % every == 0]


def _nice(least: float, most: float) -> list[float]:
    """Round values between two, a few of them."""
    span = (most - least) or 1.0
    power = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    step = next(s * power for s in (*STEPS, 10) if span / (s * power) <= MOST_TICKS)
    first, last = math.ceil(least / step - 1e-9), math.floor(most / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
