"""The picture of a ReGraph: methods on the left as what came before, and on the right as what was
tried next, with a line for each step: wide where it was tried often, coloured by what it brought.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from ...analysis.pictures import svg
from .posterior import Posteriors
from .report import Line, by_count, edges, nodes

MOST: Final = 16
"""methods on a side, the most often tried"""
MOST_STEPS: Final = 48
"""lines between them, likewise: more cannot be told apart"""
LEFT: Final = 270
RIGHT: Final = 530
TOP: Final = 92
ROW: Final = 40
"""places in pixels: of the marks of both sides, of the first row; height of a row"""
SMALL: Final = 3.0
LARGE: Final = 12.0
"""radius of a mark, pixels: its area grows with the tries"""
THIN: Final = 1.0
WIDE: Final = 7.0
"""of a line, pixels: it grows with the tries"""
TELLING: Final = math.log2(1.01)
"""log2 gain from which a step counts as a gain or a loss"""
EVEN: Final = "#9aa4ae"
"""colour of what is neither"""


def picture(known: Posteriors) -> str:
    """An SVG file."""
    steps = by_count(edges(known))
    before = _side(steps, [each.previous for each in steps])
    after = _side(steps, [each.method for each in steps])
    shown = [each for each in steps if each.previous in before and each.method in after]
    shown = shown[:MOST_STEPS]
    height = TOP + ROW * max(len(before), len(after), 1) + 40
    body = [
        svg.text(24, 32, "What paid after what", size=15, bold=True),
        svg.text(LEFT, TOP - 28, "after", anchor="end", fill=svg.FAINT),
        svg.text(RIGHT, TOP - 28, "the step", fill=svg.FAINT),
        *(_step(each, before, after, shown) for each in reversed(shown)),
        *_marks(before, steps, "previous"),
        *_marks(after, steps, "method", {each.method: each for each in nodes(known)}),
        *_legend(height - 18, len(steps) - len(shown)),
    ]
    return svg.document(height, body, "ReGraph: what paid after what")


def _side(steps: Sequence[Line], names: Sequence[str]) -> dict[str, float]:
    """The height of each name on one side, the most often tried on top."""
    tries = dict[str, int]()
    for each, name in zip(steps, names, strict=True):
        tries[name] = tries.get(name, 0) + each.count
    ranked = sorted(tries, key=lambda name: (-tries[name], name))[:MOST]
    return {name: TOP + ROW * place for place, name in enumerate(ranked)}


def _step(
    line: Line, before: Mapping[str, float], after: Mapping[str, float], shown: Sequence[Line]
) -> str:
    most = max(each.count for each in shown)
    width = THIN + (WIDE - THIN) * line.count / most
    ends = [(LEFT, before[line.previous]), (RIGHT, after[line.method])]
    return svg.line(ends, _colour(line.mean), width)


def _colour(gain: float) -> str:
    return svg.BLUE if gain >= TELLING else svg.ORANGE if gain <= -TELLING else EVEN


def _marks(
    side: Mapping[str, float],
    steps: Sequence[Line],
    field: str,
    said: Mapping[str, Line] | None = None,
) -> list[str]:
    tries = {name: sum(s.count for s in steps if getattr(s, field) == name) for name in side}
    most, right = max(tries.values(), default=1), field == "method"
    x, shift, anchor = (RIGHT, 20, "start") if right else (LEFT, -20, "end")
    room = svg.WIDTH - RIGHT - 36
    shapes = list[str]()
    for name, y in side.items():
        radius = SMALL + (LARGE - SMALL) * math.sqrt(tries[name] / most)
        shapes.append(svg.dot(x, y, svg.INK, filled=True, radius=round(radius, 1)))
        label = svg.fitting(name, room)
        shapes.append(svg.text(x + shift, y + (0 if said else 4), label, anchor=anchor))
        if said and name in said:
            words = svg.fitting(_words(said[name]), room, 10)
            shapes.append(svg.text(x + shift, y + 13, words, size=10, fill=svg.FAINT))
    return shapes


def _words(line: Line) -> str:
    return f"{line.count} tries, {line.failed} failed, {2**line.mean:.3g}x"


def _legend(y: float, left_out: int) -> list[str]:
    shapes, x = list[str](), 24.0
    told = (
        (svg.BLUE, "faster in the mean"),
        (EVEN, "within 1 %"),
        (svg.ORANGE, "slower in the mean"),
    )
    for colour, words in told:
        shapes.append(svg.line([(x, y - 4), (x + 24, y - 4)], colour, 4))
        shapes.append(svg.text(x + 30, y, words, size=11, fill=svg.FAINT))
        x += 160
    shapes.append(svg.text(x, y, "wider: more tries", size=11, fill=svg.FAINT))
    if left_out:
        shapes.append(
            svg.text(svg.WIDTH - 24, y, f"{left_out} rarer steps left out", size=11, anchor="end")
        )
    return shapes
