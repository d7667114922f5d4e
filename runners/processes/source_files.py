"""Sources as files, where a compiler or an interpreter finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_sources(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts by their names in a folder; a name may lead through folders of its own."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
