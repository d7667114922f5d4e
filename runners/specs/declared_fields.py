"""Fields of a declared plan that can be written in several ways: axes, names, one kind of many."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field

from .part import FILL_PATTERN, HEX_PATTERN, Expression, Part

AXES = ("x", "y", "z")
Pattern = Annotated[str, Field(pattern=FILL_PATTERN)]
HexText = Annotated[str, Field(pattern=HEX_PATTERN, max_length=131072)]
_ENTRY = re.compile(r"[A-Za-z_][\w:]*( *<[\w\s:<>,*&+\-()']*>)?")


def _entry_name(value: str) -> str:
    if not _ENTRY.fullmatch(value):
        raise ValueError(
            f"`{value}` is no C++ name of a kernel; such are `scale`, `ns::scale` and "
            "`reduce<float, BLOCK>`"
        )
    return value


EntryName = Annotated[str, Field(max_length=300), AfterValidator(_entry_name)]
"""A C++ name: `scale`, `ns::scale`, `reduce<float, BLOCK>` (parameters by their names)."""


def _axes(value: object) -> object:
    """`n`, `[n, m]` and `{"x": n, "y": m}` as three expressions; what is left out is 1."""
    if isinstance(value, Mapping):
        given = cast(Mapping[str, object], value)
        if unknown := sorted(set(given) - set(AXES)):
            raise ValueError(f"no axis `{unknown[0]}`; an object here has x, y and z")
        return tuple(given.get(axis, 1) for axis in AXES)
    if isinstance(value, int | str):
        return (value, 1, 1)
    if isinstance(value, Sequence):
        given = cast(Sequence[object], value)
        if not 1 <= len(given) <= len(AXES):
            raise ValueError(f"{len(given)} axes; a list here has one to three: x, y, z")
        return (*given, 1, 1)[:3]
    return value


class AxisSizes(Part):
    """Sizes by axis."""

    x: Expression = 1
    y: Expression = 1
    z: Expression = 1


Axes = Annotated[
    tuple[Expression, Expression, Expression],
    BeforeValidator(
        _axes,
        json_schema_input_type=Expression
        | Annotated[tuple[Expression, ...], Field(min_length=1, max_length=3)]
        | AxisSizes,
    ),
]


def checked(value: Mapping[str, object], model: type[Part]) -> Part:
    """The value as that model; the fields are named here, as a union's errors cannot."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    for key in value:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            meant = f"did you mean `{close[0]}`? " if close else ""
            raise ValueError(f"unknown field `{key}`; {meant}known here: {', '.join(known)}")
    return model.model_validate(value)


def by_key(what: str, kinds: Mapping[str, type[Part]]) -> Callable[[object], object]:
    """Choose a model by the one key that only it has, so that errors speak of that model."""

    def pick(value: object) -> object:
        if not isinstance(value, dict):
            return value
        keys = [key for key in kinds if key in value]
        if len(keys) == 1:
            return checked(cast(dict[str, Any], value), kinds[keys[0]])
        known = ", ".join(f"`{key}`" for key in kinds)
        said = " and ".join(f"`{key}`" for key in keys) or "none of them"
        raise ValueError(f"{what} is an object with one of {known}; this one has {said}")

    return pick
