"""Requests line by line, each one answered: also what the SDK drops without a word.

It reads a line with a parser of JSON that knows no half of a surrogate pair, no integer of 5,000
digits and no nesting of 200, and leaves out what that refuses. A client then waits for ever.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
LONGEST_ID = 200


class Answers:
    """Where answers are written, whole lines by one writer at a time."""

    def __init__(self, file: anyio.AsyncFile[str]) -> None:
        self._file = file
        self._lock = anyio.Lock()

    async def write(self, text: str) -> int:
        """Write a line."""
        async with self._lock:
            return await self._file.write(text)

    async def flush(self) -> None:
        """Send what was written."""
        async with self._lock:
            await self._file.flush()


class Requests:
    """The lines that the SDK can read; the others are answered here."""

    def __init__(self, file: anyio.AsyncFile[str], answers: Answers) -> None:
        self._file, self._answers = file, answers

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._file:
            try:
                jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as error:
                if (refused := refusal(line, error)) is not None:
                    await self._answers.write(refused + "\n")
                    await self._answers.flush()
            else:
                yield line


def refusal(line: str, error: ValidationError) -> str | None:
    """The error that answers a line which cannot be read; None for what nobody waits for an answer
    to: an empty line, a notification, an answer of the client's."""
    message: object = _as_python_reads_it(line)
    fields = cast("dict[str, Any]", message) if isinstance(message, dict) else None
    if not line.strip() or (fields is not None and not _asks(fields)):
        return None
    first = error.errors()[0]
    broken = first["type"] == "json_invalid"
    why = first["msg"] if broken else "it is no request, notification or answer of JSON-RPC 2.0"
    data = ErrorData(
        code=PARSE_ERROR if broken else INVALID_REQUEST,
        message=f"the request cannot be read: {why}. Nothing was done; send it again, corrected",
    )
    answer = JSONRPCError(
        jsonrpc="2.0", id=None if fields is None else _id_of(fields.get("id")), error=data
    )
    return answer.model_dump_json(by_alias=True, exclude_none=False, exclude={"error": {"data"}})


def _asks(message: dict[str, Any]) -> bool:
    """Whether an answer is waited for, or would be, if it were a request at all."""
    return "id" in message or not {"method", "result", "error"} & message.keys()


def _id_of(found: object) -> int | str | None:
    """An id that can be sent back as it came."""
    if isinstance(found, str) and len(found) <= LONGEST_ID and found.isprintable():
        return found
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _as_python_reads_it(line: str) -> Any:
    """The message, as far as a more patient parser can read it; None: not at all."""
    try:
        return json.loads(line, parse_int=_short_integer)
    except (ValueError, RecursionError):
        return None


def _short_integer(text: str) -> int | None:
    return int(text) if len(text) <= 18 else None
