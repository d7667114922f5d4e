"""A tool's arguments as they arrive, to its model; every complaint names the field in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from ...runners.errors import SpecError
from ...runners.specs.problems import explain_problems
from ...tools.base import Arguments

A = TypeVar("A", bound=Arguments)


def read_arguments(tool: str, model: type[A], given: Mapping[str, Any]) -> A:
    """The arguments, strictly: "3" is no number, and what is unknown is refused.

    Raises SpecError with every problem, with what is known or valid there.
    """
    try:
        return _validated(model, given)
    except ValidationError as error:
        unpacked = _unpacked(given, error)
        if unpacked is not None:
            return read_arguments(tool, model, unpacked)
        lines = [f"  {line}" for line in explain_problems(error, model)]
        raise SpecError(
            f"{tool}: the arguments are not valid:\n" + "\n".join(lines),
            next_step=f"correct them and call {tool} again; nothing was done",
        ) from error


def _validated(model: type[A], given: Mapping[str, Any]) -> A:
    # Strict reading of JSON takes a list for a tuple; strict reading of Python values does not.
    return model.model_validate_json(json.dumps(model.as_named(given)), strict=True)


def _unpacked(given: Mapping[str, Any], error: ValidationError) -> dict[str, Any] | None:
    """The arguments with objects and lists that came as JSON in a string, as some clients send
    them; None when there are none among the fields at fault."""
    found = dict[str, Any]()
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else ""
        text: object = given.get(name)
        if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
            try:
                found[name] = cast(object, json.loads(text))
            except json.JSONDecodeError:
                continue
    return {**given, **found} if found else None
