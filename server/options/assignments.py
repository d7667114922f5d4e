"""Settings of a search as a command line gives them: `--set policy=beam --set beam_width=8`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, overload

from pydantic import BaseModel, ValidationError

from ...runners.errors import SpecError
from ...runners.specs.problems import explain_problems
from ...search.settings import Settings

M = TypeVar("M", bound=BaseModel)


@overload
def settings_from(flags: Mapping[str, Any], assignments: Iterable[str]) -> Settings: ...


@overload
def settings_from(
    flags: Mapping[str, Any], assignments: Iterable[str], model: type[M], option: str
) -> M: ...


def settings_from(
    flags: Mapping[str, Any],
    assignments: Iterable[str],
    model: type[BaseModel] = Settings,
    option: str = "--set",
) -> BaseModel:
    """Settings from flags, over which `NAME=VALUE` assignments go; the last of a name counts.

    Values are numbers, words, or `none` where a setting may be left open. Raises SpecError, which
    says what names and values there are.
    """
    try:
        given = dict(_assigned(each, option) for each in assignments)
        return model.model_validate({**flags, **given})
    except ValidationError as error:
        lines = [f"  {line}" for line in explain_problems(error, model)]
        raise SpecError(
            "these settings are not valid:\n" + "\n".join(lines),
            next_step=f"correct {option} NAME=VALUE",
        ) from error


def _assigned(text: str, option: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SpecError(
            f"`{option} {text}` assigns nothing",
            valid="NAME=VALUE, such as --set policy=beam --set c_puct=0.5",
        )
    return name.strip(), _value(value.strip())


def _value(text: str) -> object:
    if text.lower() == "none":
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
