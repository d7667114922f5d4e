"""The extension `io.modelcontextprotocol/ui` (MCP Apps): which page shows a tool's reply.

A client that knows it shows the page beside the reply; all others show the reply, which says the
same in text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.extension import Extension

APPS: Final = "io.modelcontextprotocol/ui"
PAGE: Final = "ui://kernelwright/dashboard"
MIME: Final = "text/html;profile=mcp-app"
SHOWN_BY: Final[Mapping[str, str]] = {"search_step": PAGE}
"""by tool"""
PAGE_META: Final[dict[str, Any]] = {"ui": {"prefersBorder": True}}
"""of the page: it asks for no address and no permission, so that a client allows none"""


class Apps(Extension):
    """Says that there are pages; they are read as every resource is (`resources/kinds.py`)."""

    identifier = APPS
