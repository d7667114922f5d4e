"""What a server over HTTP need not write into its log: that a client has gone."""

from __future__ import annotations

import logging
from typing import cast

import anyio
from starlette.requests import ClientDisconnect

GONE = (ClientDisconnect, anyio.BrokenResourceError, anyio.ClosedResourceError)
LOGGERS = ("mcp.server.streamable_http", "uvicorn.error")
"""of the SDK's transport, which tells of each with a traceback, and may break at telling its client
as well; and of the server that then hears of it"""


class NotOfTheGone(logging.Filter):
    """Leaves out errors that say no more than that a client left, or ended its session, while
    something was on the way."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is worth a line."""
        return record.exc_info is None or not _is_gone(record.exc_info[1])


def _is_gone(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_gone, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    if isinstance(error, RuntimeError):  # an answer to what was answered before the client left
        return _is_gone(error.__context__)
    return isinstance(error, GONE)


def quieten() -> None:
    """From now on; may be called again."""
    for logger in map(logging.getLogger, LOGGERS):
        if not any(isinstance(each, NotOfTheGone) for each in logger.filters):
            logger.addFilter(NotOfTheGone())
