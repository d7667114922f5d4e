"""Calls of tools as replies tell them: to be made as they stand."""

from __future__ import annotations

import json

from pydantic import BaseModel


def again(tool: str, arguments: BaseModel, **changes: object) -> str:
    """The call that was made, with other values of some arguments."""
    given = arguments.model_dump(mode="json", exclude_defaults=True, exclude={"wait_s"})
    return call(tool, **(given | changes))


def call(tool: str, **arguments: object) -> str:
    """`time_variant {"variant_id": "v0123456789ab"}`; what is None is left out."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return f"{tool} {json.dumps(given, ensure_ascii=False)}"
