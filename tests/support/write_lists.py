"""Write `server/protocol/lists.json` anew: `python tests/support/write_lists.py`."""

from __future__ import annotations

from pathlib import Path

from kernelwright.server.protocol.kept_lists import FILE, Lists
from kernelwright.server.protocol.listed_tools import listed_tools
from kernelwright.server.resources.serving import listed_resources, listed_templates

PATH = Path(__file__).parents[2] / "server" / "protocol" / FILE


def made() -> str:
    """The file's content as tools and kinds make it."""
    return Lists(listed_tools(), listed_resources(), listed_templates()).as_json()


if __name__ == "__main__":
    PATH.write_text(made(), encoding="utf-8")
    print(f"written: {PATH}")
