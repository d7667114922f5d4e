"""Places of a spec where a `?` of `spec --infer` still stands: pure, of JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

OPEN = "?"
"""Stands in a draft where the source does not say what belongs there."""
ASKED = {
    "role": "input, output or inout",
    "dtype": "the type of its elements, such as float32",
    "shape": "its sizes, as numbers or expressions over symbols",
    "value": "a number, or an expression over symbols",
    "grid": "blocks along x, y and z, as numbers or expressions over symbols and parameters",
    "block": "threads of a block along x, y and z",
    "constexprs": "a number, or an expression such as next_pow2(n)",
}
"""What belongs in a place, by its field."""


def left_open(data: object) -> list[str]:
    """A line for each `?`: its place, with names in place of numbers, and what belongs there."""
    return [f"{'.'.join(path)}: {_wanted(path)}" for path in dict.fromkeys(_places(data, ()))]


def _places(data: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if data == OPEN:
        yield path
    elif isinstance(data, Mapping):
        for name, value in cast("Mapping[str, object]", data).items():
            yield from _places(value, (*path, str(name)))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for each in cast("Sequence[object]", data):
            named = cast("Mapping[str, object]", each).get("name") if _is_object(each) else None
            yield from _places(each, (*path, str(named)) if named else path)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _wanted(path: Sequence[str]) -> str:
    if len(path) > 1 and path[-2] == "symbols" and path[0] == "workloads":
        return f"the value of `{path[-1]}` in a call that really occurs"
    return next((ASKED[part] for part in reversed(path) if part in ASKED), "what belongs there")
