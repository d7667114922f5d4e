"""Every call of a client, on its way: to the audit, and as a log record."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from pydantic import BaseModel

from .audit import SECRET_FORM, Audit, Json, told

CALLS: Final = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
"""methods that are written down, and the parameter that says what of"""
TOOL_USE: Final = "claudecode/toolUseId"
"""of Claude Code: the same as in its transcript"""
LONGEST_ERROR: Final = 300
CLIENT: Final = "io.modelcontextprotocol/clientInfo"
logger = logging.getLogger("kernelwright.calls")


class Observed:
    """Middleware: times a call and tells how it ended. It changes nothing."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def __call__(
        self,
        context: ServerRequestContext[Any, Any],
        go_on: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        """Pass the call on."""
        if context.method not in CALLS:
            return await go_on(context)
        began, record = time.perf_counter(), _asked(context)
        try:
            result = await go_on(context)
            record |= _ended(result)
            return result
        except Exception as error:
            record |= {"ended": "error", "error": _short(str(error))}
            raise
        except BaseException:
            record |= {"ended": "cancelled"}
            raise
        finally:
            record["seconds"] = round(time.perf_counter() - began, 4)
            self._audit.write(record)
            logger.info("%s %s", record["method"], record["what"], extra={"call": record})


def _asked(context: ServerRequestContext[Any, Any]) -> Json:
    given, meta = dict(context.params or {}), cast("Json", context.meta or {})
    user = getattr(context.request, "scope", {}).get("user")
    record: Json = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "pid": os.getpid(),
        "transport": "stdio" if context.request is None else "http",
        "holder": user.access_token.client_id if isinstance(user, AuthenticatedUser) else None,
        "client": _client(context, meta),
        "request": context.request_id,
        "tool_use": meta.get(TOOL_USE),
        "method": context.method,
        "what": told(str(given.get(CALLS[context.method], ""))),
        "arguments": told(given.get("arguments") or {}),
    }
    return {name: value for name, value in record.items() if value is not None}


def _client(context: ServerRequestContext[Any, Any], meta: Json) -> str | None:
    """Name and version, as the client says."""
    said = meta.get(CLIENT)
    if isinstance(said, dict):
        known = cast("Json", said)
        return _short(f"{known.get('name')} {known.get('version')}")
    params = context.session.client_params
    return (
        None
        if params is None
        else _short(f"{params.client_info.name} {params.client_info.version}")
    )


def _ended(result: object) -> Json:
    """How a result says that its call ended; as an object of the SDK, or as it goes on the wire."""
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    told = cast("Json", result) if isinstance(result, dict) else {}
    text = "".join(str(block.get("text", "")) for block in told.get("content", ()))
    size = {"reply_characters": len(text)} if text else {}
    if told.get("isError") is True:
        return {"ended": "refused", "error": _short(text), **size}
    found: Json = told.get("structuredContent") or {}
    job = {"job": found["job_id"]} if "job_id" in found else {}
    return {"ended": str(found.get("status", "done")), **job, **size}


def _short(text: str) -> str:
    return SECRET_FORM.sub("(left out)", text)[:LONGEST_ERROR]
