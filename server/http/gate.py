"""What a request must bring before the protocol sees it: a token, and room for one more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from .tokens import Token

MOST_AT_ONCE: Final = 64
"""requests of one token under way: an agent waits for a few jobs, and listens once a session"""
RETRY_S: Final = 1
BEARER: Final = "bearer "
LONGEST_TOKEN: Final = 200
HOW = "send `Authorization: Bearer TOKEN`; `kernelwright token make NAME` makes one"


@dataclass(slots=True)
class Gate:
    """Lets through who holds a token, so many requests at once of each, and says who it is."""

    app: ASGIApp
    holder: Callable[[str], Token | None]
    """whose token it is; None: nobody's"""
    under_way: Counter[str] = field(default_factory=Counter[str])

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the application's own start and end
            await self.app(scope, receive, send)
            return
        holder = self._asks(Headers(scope=scope).get("authorization", ""))
        if holder is None:
            await _refuse(send, 401, "invalid_token", f"no token, or an unknown one: {HOW}")
            return
        if self.under_way[holder.name] >= MOST_AT_ONCE:
            said = f"`{holder.name}` has {MOST_AT_ONCE} requests under way; wait for one of them"
            await _refuse(send, 429, "too_many_requests", said)
            return
        self.under_way[holder.name] += 1
        try:
            await self.app({**scope, "user": _user(holder)}, receive, send)
        finally:
            self.under_way[holder.name] -= 1

    def _asks(self, sent: str) -> Token | None:
        if not sent[: len(BEARER)].lower() == BEARER:
            return None
        token = sent[len(BEARER) :].strip()
        if not 0 < len(token) <= LONGEST_TOKEN:
            return None
        return self.holder(token)


def _user(holder: Token) -> AuthenticatedUser:
    """The SDK holds a session for whom it was opened by."""
    scopes = ["read", "work"] if holder.scope == "work" else ["read"]
    return AuthenticatedUser(AccessToken(token=holder.digest, client_id=holder.name, scopes=scopes))


async def _refuse(send: Send, status: int, error: str, description: str) -> None:
    body = json.dumps({"error": error, "error_description": description}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="kernelwright"'))
    else:
        headers.append((b"retry-after", str(RETRY_S).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
