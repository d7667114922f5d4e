"""The dashboard as one document, for clients that show pages of servers (MCP Apps): script and
style within it, nothing from elsewhere, data through the client (`embedded.js`)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from .site import FILES, OURS

SCRIPTS: Final = ("embedded.js", "app.js")
STYLES: Final = ("page.css", "style.css")


@cache
def embedded() -> str:
    """The page."""
    page = _text(OURS, "index.html")
    for name in STYLES:
        link = f'<link rel="stylesheet" href="{name}">'
        page = _put(page, link, f"<style>{_text(FILES[name][0], name)}</style>")
    page = _put(page, '<script src="app.js" defer></script>\n', "")
    scripts = "".join(f"<script>{_text(OURS, name)}</script>\n" for name in SCRIPTS)
    return _put(page, "</body>", f"{scripts}</body>")


def _put(page: str, old: str, new: str) -> str:
    before, found, after = page.partition(old)
    assert found, f"index.html has no {old}"
    return before + new + after


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
