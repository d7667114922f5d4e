"""Tools as tools/list shows them: what a client needs to call one, in few bytes.

Clients hold the list, or the part of it that they loaded, in the context of a model. There are no
schemas of results, which would be twice as long as all the rest: results are shown to models as
they are, with a schema or without one. A server tells them as `kept_lists.py` has kept them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from mcp_types import Tool as ToolOnWire
from mcp_types import ToolAnnotations
from pydantic.json_schema import GenerateJsonSchema

from ...tools import TOOLS
from ...tools.base import Arguments, Tool
from .apps import SHOWN_BY

ALWAYS_LOAD, SEARCH_HINT = "anthropic/alwaysLoad", "anthropic/searchHint"
"""of Claude Code, which loads tools when they are wanted"""
UNSAID: Mapping[str, Sequence[object]] = {
    "additionalProperties": (True,),
    "default": ("", [], {}, False),
    "minimum": (0,),
}
"""what a schema means where it says nothing, and what nobody would take for allowed"""
UNSENT = ("minLength", "maxLength", "minItems", "maxItems")
"""bounds that nobody meets by accident: who does is refused with a sentence"""


@cache
def listed_tools() -> tuple[ToolOnWire, ...]:
    """Every tool, in the order of TOOLS."""
    return tuple(map(_on_wire, TOOLS))


def _on_wire(tool: Tool[Any, Any]) -> ToolOnWire:
    meta: dict[str, Any] = {SEARCH_HINT: tool.search_hint}
    if tool.starts:
        meta[ALWAYS_LOAD] = True
    if tool.name in SHOWN_BY:
        meta["ui"] = {"resourceUri": SHOWN_BY[tool.name]}
    return ToolOnWire(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_schema(tool.arguments),
        annotations=_hints(tool),
        _meta=meta,
    )


def _hints(tool: Tool[Any, Any]) -> ToolAnnotations:
    """What the protocol takes for granted of one that says nothing (it writes, twice is not once)
    is left out, and so is what it asks of none that only reads."""
    if tool.read_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent or None,
        open_world_hint=False,
    )


class _Schema(GenerateJsonSchema):
    """Without a title for each field: it says nothing that the name does not."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: type[Arguments]) -> dict[str, Any]:
    schema = cast("dict[str, Any]", _shorter(model.model_json_schema(schema_generator=_Schema)))
    for name, told in model.told_elsewhere.items():
        schema["$defs"][name] = {"type": "object", "description": told}
    return schema


def _shorter(value: object) -> object:
    """The same schema without what a client does not need to call a tool well: titles and
    docstrings of models (a tool's own description says it), that what may be left out may be null
    as well, what schemas mean anyway, and the line breaks of our sources."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_shorter(each) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    known = {k: v for k, v in cast("dict[str, Any]", value).items() if _wanted(k, v)}
    if "properties" in known:
        known = {k: v for k, v in known.items() if k != "description"}
    kinds = [kind for kind in known.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        known = {k: v for k, v in known.items() if k not in ("anyOf", "default")} | kinds[0]
    return {k: _shorter(v) for k, v in known.items()}


def _wanted(key: str, value: object) -> bool:
    """Not a title or a length, unless it is a field called so; nor what is meant without it."""
    if key == "title" or key in UNSENT:
        return isinstance(value, dict)
    return not any(value == each and type(value) is type(each) for each in UNSAID.get(key, ()))
