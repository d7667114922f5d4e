"""What the sender of a request may do."""

from __future__ import annotations

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser


def holder_of(request: object) -> str:
    """The name of the token that a request came with; empty over stdio."""
    user = getattr(request, "scope", {}).get("user")
    return str(user.access_token.client_id) if isinstance(user, AuthenticatedUser) else ""


def may_work(request: object) -> bool:
    """Whether more than reading is allowed. Over stdio there is no request, and whoever started
    the process may do everything."""
    if request is None:
        return True
    user = getattr(request, "scope", {}).get("user")
    return isinstance(user, AuthenticatedUser) and "work" in user.scopes
