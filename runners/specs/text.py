"""A spec as text for people: JSON with a line for what fits into one."""

from __future__ import annotations

import json
from typing import Any, cast

LINE = 100
"""Characters of a line."""


def written(data: object, indent: int = 0) -> str:
    """JSON in which a part that fits stands on one line, as an argument does."""
    line = json.dumps(data, ensure_ascii=False)
    if len(line) + indent <= LINE or not data or not isinstance(data, dict | list):
        return line
    inner = " " * (indent + 2)
    if isinstance(data, list):
        parts = [written(item, indent + 2) for item in cast(list[Any], data)]
        return "[\n" + ",\n".join(inner + part for part in parts) + f"\n{' ' * indent}]"
    fields = cast(dict[str, Any], data).items()
    parts = [f"{json.dumps(key)}: {written(value, indent + 2)}" for key, value in fields]
    return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{' ' * indent}}}"
