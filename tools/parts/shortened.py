"""JSON with its long texts cut: what somebody sent, told again so that he knows it."""

from __future__ import annotations

from typing import TypeVar, cast

from ...runners.wording import cut

LONGEST_TEXT = 300
T = TypeVar("T")


def shortened_texts(value: T, longest: int = LONGEST_TEXT) -> T:
    """The same with every text of more than `longest` characters cut, which says how much is
    missing."""
    return cast(T, _shortened(value, longest))


def _shortened(value: object, longest: int) -> object:
    if isinstance(value, str):
        return cut(value, longest)
    if isinstance(value, dict):
        return {
            key: _shortened(each, longest) for key, each in cast("dict[str, object]", value).items()
        }
    if isinstance(value, list | tuple):
        return [_shortened(each, longest) for each in cast("list[object]", value)]
    return value
