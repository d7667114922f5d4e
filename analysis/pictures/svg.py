"""The few shapes that the pictures are made of. Coordinates and sizes in pixels, y downwards."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

WIDTH = 800
INK, FAINT, GRID, PAPER = "#1f2328", "#57606a", "#d8dee4", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#aa4499", "#56b4e9"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
CHARACTER, BOLD = 0.6, 0.7
"""of the size of the font: the mean width of a character in DejaVu Sans, a wide one"""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(height: float, body: Iterable[str], title: str) -> str:
    """A whole SVG file; `title` is for those who do not see it."""
    size = f'width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family={_attr(FONT)}>'
    paper = rect(0.5, 0.5, WIDTH - 1, height - 1, PAPER, stroke=GRID, radius=6)
    return "\n".join([head, f"<title>{_clean(title)}</title>", paper, *body, "</svg>", ""])


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = 12,
    anchor: str = "start",
    fill: str = INK,
    bold: bool = False,
    turned: bool = False,
) -> str:
    """Words on a baseline; `turned`: reading upwards."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"'
    weight = ' font-weight="600"' if bold else ""
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f"<text {place}{weight}{turn}>{_clean(words)}</text>"


def line(
    points: Sequence[tuple[float, float]], stroke: str, width: float = 1, dashes: str = ""
) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    pen = f'stroke="{stroke}" stroke-width="{width:g}"{dashed}'
    return f'<polyline points="{path}" fill="none" {pen}/>'


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    stroke: str = "none",
    radius: float = 0,
) -> str:
    """A box."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}"'
    return f'<rect {place} fill="{fill}" stroke="{stroke}"/>'


RING = 2.5
"""by which a ring is wider than a filled mark"""


def dot(x: float, y: float, colour: str, *, filled: bool, radius: float = 6) -> str:
    """A mark: filled, with a thin rim; or a ring, so wide that it shows around a filled one."""
    fill, pen, wide = (colour, PAPER, 1.5) if filled else ("none", colour, 2.0)
    around = radius if filled else radius + RING
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{around:g}"'
    return f'<circle {place} fill="{fill}" stroke="{pen}" stroke-width="{wide:g}"/>'


def fitting(words: str, width: float, size: float = 12, *, bold: bool = False) -> str:
    """The words, cut so that they take no more than a width."""
    most = max(4, math.floor(width / ((BOLD if bold else CHARACTER) * size)))
    return words if len(words) <= most else words[: most - 3] + "..."


def quantity(value: float, unit: str) -> str:
    """ "3.35 TB/s", "12 GFLOP/s", "0.5 FLOP/s"."""
    for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def _clean(words: str) -> str:
    return escape(_NO_XML.sub("?", words))


def _attr(words: str) -> str:
    return quoteattr(words)
