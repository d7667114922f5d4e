"""The log of a server over HTTP: clients that leave are no errors, everything else is."""

from __future__ import annotations

import logging

import anyio
import pytest
from mcp.server import streamable_http

from kernelwright.server.http.quiet import LOGGERS, quieten


def answered_twice(first: Exception) -> Exception:
    """As the SDK's transport breaks where it tells a client of an error after its answer."""
    second = RuntimeError("Unexpected ASGI message")
    second.__context__ = first
    return second


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (anyio.ClosedResourceError(), False),
        (ExceptionGroup("tasks", [anyio.BrokenResourceError()]), False),
        (answered_twice(anyio.ClosedResourceError()), False),
        (answered_twice(ValueError("a fault")), True),
        (RuntimeError("a fault"), True),
        (ValueError("a fault"), True),
        (ExceptionGroup("tasks", [anyio.BrokenResourceError(), ValueError("a fault")]), True),
    ],
    ids=[
        "gone",
        "several gone",
        "gone, told twice",
        "a fault, told twice",
        "one",
        "a fault",
        "a fault among them",
    ],
)
@pytest.mark.parametrize("logger", LOGGERS)
def test_of_clients_that_left_nothing_is_logged(
    logger: str, error: Exception, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    quieten()
    quieten()
    try:
        raise error
    except Exception:
        logging.getLogger(logger).exception("Error handling POST request")
    assert bool(caplog.records) == told


def test_the_name_of_the_logger_is_the_SDKs() -> None:
    assert streamable_http.logger.name in LOGGERS
