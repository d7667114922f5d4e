"""Texts as records keep them: of what is too long for any reader, the beginning.

An identifier may have a million characters, and a compiler repeats it; what is kept travels to the
store, to every client and into files.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from .wording import cut

KEPT_CHARS = 8000
"""of one text: more than twice what the longest honest compiler message of our tests has"""


def kept(value: Any) -> Any:
    """The same value, every text in it cut; lists, tuples and dicts are looked into."""
    match value:
        case str():
            return cut(value, KEPT_CHARS)
        case dict():
            return {kept(key): kept(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple():
            return type(value)(map(kept, value))  # pyright: ignore
        case _:
            return value


Message = Annotated[str, AfterValidator(kept)]
Evidence = Annotated[dict[str, Any], AfterValidator(kept)]
