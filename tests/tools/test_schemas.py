"""Schemas of replies, as clients check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright.tools import TOOLS
from kernelwright.tools.base import Tool


def nullable_and_required(schema: dict[str, Any]) -> Iterator[str]:
    """Properties that a reply leaves out when they are null, and that its schema asks for."""
    for name, part in {"": schema, **schema.get("$defs", {})}.items():
        for key in part.get("required", ()):
            kinds = part["properties"][key].get("anyOf", ())
            if any(kind.get("type") == "null" for kind in kinds):
                yield f"{name}.{key}"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_a_reply_leaves_out_is_nothing_that_its_schema_asks_for(tool: Tool[Any, Any]) -> None:
    assert list(nullable_and_required(tool.result.model_json_schema(mode="serialization"))) == []
