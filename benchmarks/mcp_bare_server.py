"""A server with one tool and nothing behind it, for mcp_bare.py: what the SDK alone takes."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

bare: MCPServer[None] = MCPServer("bare", log_level="WARNING")


@bare.tool()
def inspect(what: str) -> dict[str, Any]:
    """Show what there is."""
    return {"what": what, "part": "summary", "entries": [], "total": 0}


if __name__ == "__main__":
    bare.run("stdio")
