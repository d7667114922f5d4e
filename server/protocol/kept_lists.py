"""What clients list, kept as `lists.json` beside this file: told before what makes it is loaded.

`python tests/support/write_lists.py` writes that anew from the tools and the kinds of resources; a
test fails where it says something else than they do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from mcp_types import Resource, ResourceTemplate, Tool

FILE: Final = "lists.json"
LIST_TTL_MS: Final = 3_600_000
"""The lists stay as they are for as long as the server runs."""
LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


@dataclass(frozen=True, slots=True)
class Lists:
    """Each in the order in which clients see it."""

    tools: tuple[Tool, ...]
    resources: tuple[Resource, ...]
    templates: tuple[ResourceTemplate, ...]

    def as_json(self) -> str:
        """As the file has them, an entry a line."""
        named: dict[str, tuple[Any, ...]] = {
            "tools": self.tools,
            "resources": self.resources,
            "templates": self.templates,
        }
        told = {name: ",\n".join(map(_line, entries)) for name, entries in named.items()}
        return "{" + ",\n".join(f'"{name}": [\n{told[name]}\n]' for name in named) + "}\n"


@cache
def kept_lists() -> Lists:
    """The lists of this version."""
    text = resources.files(__package__ or "").joinpath(FILE).read_text(encoding="utf-8")
    found = json.loads(text)
    return Lists(
        tuple(map(Tool.model_validate, found["tools"])),
        tuple(map(Resource.model_validate, found["resources"])),
        tuple(map(ResourceTemplate.model_validate, found["templates"])),
    )


def _line(entry: Any) -> str:
    known = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"))
