"""Our SVG pictures as PNG, for clients that show images; resvg draws them (extra `pictures`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ...runners.errors import ToolchainMissing

ZOOM = 1.25
"""1000 pixels wide: small letters stay legible, and a model pays about 800 tokens for it"""
INSTALL = "pip install 'kernelwright[pictures]'"
FAMILIES = {
    "DejaVuSans.ttf": "DejaVu Sans",
    "LiberationSans-Regular.ttf": "Liberation Sans",
    "NotoSans-Regular.ttf": "Noto Sans",
    "OpenSans-Regular.ttf": "Open Sans",
    "Arial.ttf": "Arial",
    "arial.ttf": "Arial",
    "Helvetica.ttc": "Helvetica",
    "Ubuntu-R.ttf": "Ubuntu",
}
"""files of fonts with wide coverage, to the name that the SVG library knows them by"""
PLACES = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
)


def png(svg: str) -> bytes:
    """The picture at `ZOOM`. Raises ToolchainMissing with what to install."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise ToolchainMissing("nothing here draws SVG as PNG", next_step=INSTALL) from error
    family = font(PLACES)
    if family is None:
        raise ToolchainMissing(
            "no font is installed that a picture's text could be drawn with",
            valid=", ".join(dict.fromkeys(FAMILIES.values())),
            next_step="apt-get install fonts-dejavu-core, or the like",
        )
    return bytes(svg_to_bytes(svg_string=svg, zoom=ZOOM, sans_serif_family=family))


@cache
def font(places: tuple[str, ...]) -> str | None:
    """The first known sans-serif family whose file lies beneath these folders."""
    found = {name for place in places for name in _files(Path(place).expanduser())}
    return next((family for file, family in FAMILIES.items() if file in found), None)


def _files(place: Path) -> Iterator[str]:
    for _, _, names in os.walk(place):
        yield from names
