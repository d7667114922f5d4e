"""What a server over HTTP need not write into its log: that a client has gone."""

from __future__ import annotations

import logging

import anyio
from starlette.requests import ClientDisconnect

GONE = (ClientDisconnect, anyio.BrokenResourceError, anyio.ClosedResourceError)
PROTOCOL = "mcp.server.streamable_http"
"""the logger of the SDK's transport, which tells of each with a traceback"""


class NotOfTheGone(logging.Filter):
    """Leaves out errors that say no more than that a client left, or ended its session, while
    something was on the way."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is worth a line."""
        return record.exc_info is None or not isinstance(record.exc_info[1], GONE)


def quieten() -> None:
    """From now on; may be called again."""
    logger = logging.getLogger(PROTOCOL)
    if not any(isinstance(each, NotOfTheGone) for each in logger.filters):
        logger.addFilter(NotOfTheGone())
