"""What a client is sent: results and errors of at most MOST_CHARS characters.

Claude Code writes what is longer than 50,000 characters into a file and shows 2 KB of it, and warns
from 10,000 tokens on. The rest of what is cut here comes from `inspect`, in pages.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from ...runners.wording import cut

if TYPE_CHECKING:
    from ...runners.model import Record

MOST_CHARS = 25_000
IMAGE = "image"
"""field of a result: the path of a PNG file that we wrote"""
LONGEST_TEXTS = (4000, 1000, 300)
"""tried one after the other, until a reply is short enough"""
LONGEST_LISTS = (50, 20, 5, 1)
LONGEST_ECHO = 120
CUT = "this reply was too long: texts or lists of it are cut; inspect shows all of it in pages"


def answer(result: Record) -> CallToolResult:
    """A result as clients get it: the same content as structure and as text."""
    content = capped(result.model_dump(mode="json", exclude_none=True))
    blocks: list[ContentBlock] = [
        TextContent(type="text", text=in_json(content)),
        *images_of(content),
    ]
    return CallToolResult(content=blocks, structured_content=content)


def images_of(content: Mapping[str, Any]) -> list[ImageContent]:
    """The image of a result, or of the result of a job; none where the file has gone since."""
    result = content.get("result") or content
    path = result.get(IMAGE)
    try:
        data = None if path is None else Path(path).read_bytes()
    except OSError:
        data = None
    if data is None:
        return []
    return [ImageContent(type="image", data=b64encode(data).decode("ascii"), mime_type="image/png")]


def in_json(content: object) -> str:
    """Compact JSON."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def capped(content: dict[str, Any]) -> dict[str, Any]:
    """The same where it is short enough; else with long texts, and then long lists and objects,
    cut, and `cut` beside them."""
    if len(in_json(content)) <= MOST_CHARS:
        return content
    from ...tools.parts.shortened import shortened_texts

    for fewest, longest in [(None, t) for t in LONGEST_TEXTS] + [
        (fewest, LONGEST_TEXTS[-1]) for fewest in LONGEST_LISTS
    ]:
        less = cast("dict[str, Any]", _fewer(shortened_texts(content, longest), fewest))
        less["cut"] = CUT
        if len(in_json(less)) <= MOST_CHARS:
            return less
    return {"cut": cut(in_json(content), MOST_CHARS // 2)}


def error_text(error: Exception, asked: object) -> str:
    """What an error says, where long texts of what was asked stand in it shortened."""
    text = str(error)
    for each in sorted(set(_texts(asked)), key=len, reverse=True):
        if len(each) > LONGEST_ECHO:
            for form in (each, repr(each)[1:-1], json.dumps(each)[1:-1]):
                text = text.replace(form, f"{form[:LONGEST_ECHO]}...")
    return cut(text, MOST_CHARS - 100)


def _fewer(value: object, most: int | None) -> object:
    """The same with at most so many items in each list, and entries in each object but the whole;
    None: all."""
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        return {key: _fewer(_first(each, most), most) for key, each in known.items()}
    if isinstance(value, list):
        return [_fewer(_first(each, most), most) for each in cast("list[object]", value)]
    return value


def _first(value: object, most: int | None) -> object:
    if most is None or not isinstance(value, list | dict) or len(cast(Any, value)) <= most:
        return cast(object, value)
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        return dict(list(known.items())[: max(most, 12)])
    return cast("list[object]", value)[:most]


def _texts(value: object) -> Iterator[str]:
    """Every text in a value of JSON, names of fields among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in cast("dict[str, object]", value).items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _texts(each)
