"""Pictures that a result names, as clients that show images want them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_types import ImageContent

FIELD = "image"
"""of a result: the path of a PNG file that we wrote"""


def images_of(content: Mapping[str, Any]) -> list[ImageContent]:
    """The image of a result, or of the result of a job; none where the file has gone since."""
    result = content.get("result") or content
    path = result.get(FIELD)
    try:
        data = None if path is None else Path(path).read_bytes()
    except OSError:
        data = None
    if data is None:
        return []
    return [ImageContent(type="image", data=b64encode(data).decode("ascii"), mime_type="image/png")]
