"""Values of the store: JSON objects as text, and what is said of a value that is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from ..runners.errors import StoreError
from .errors import damaged

JsonObject = dict[str, Any]


def encoded(table: str, key: str, value: JsonObject) -> str:
    """A value as text. Raises StoreError, by its key, when it is not JSON."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{table}/{key} is not JSON: {error}",
            valid="an object of text, finite numbers, true, false, null, lists and objects",
        ) from error


def decoded_all(
    path: Path, table: str, rows: Sequence[tuple[Any, ...]]
) -> list[tuple[str, JsonObject]]:
    """Keys and values of rows: all in one go, and one by one where that gives anything but an
    object for each."""
    texts = ",".join([text for _, text in rows])
    try:
        # Few values come twice: to look each up among those before takes longer than to make it.
        values: list[Any] = from_json(f"[{texts}]", cache_strings="keys")
    except (ValueError, TypeError):
        values = []
    if len(values) == len(rows) and set(map(type, values)) <= {dict}:
        return [(key, value) for (key, _), value in zip(rows, values, strict=True)]
    return [(key, decoded(path, table, key, text)) for key, text in rows]


def decoded(path: Path, table: str, key: str, text: str | bytes) -> JsonObject:
    """The value of a text. Raises StoreError when another program wrote something else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise damaged(path, f"{table}/{key} is not JSON") from error
    if not isinstance(value, dict):
        raise damaged(path, f"{table}/{key} is not an object")
    return cast(JsonObject, value)
