"""Spans of OpenTelemetry, where the environment names an exporter (extra `otel`).

The SDK of the protocol makes a span for every request, below that of its client where the client
sent one; the broker's share of a call is a span below that. Without an exporter none is recorded,
and the package that records them is not loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

NAMED_BY: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
"""the variables of OpenTelemetry that say where spans are sent"""
OFF: Final = "OTEL_SDK_DISABLED"
FLUSH_MS: Final = 500
"""A client kills a server soon after it has told it to end."""
SERVICE: Final = "OTEL_SERVICE_NAME"
TRACER: Final = "kernelwright"
logger = logging.getLogger(__name__)


def wanted() -> bool:
    """Whether an exporter is named."""
    named = any(os.environ.get(name) for name in NAMED_BY)
    return named and os.environ.get(OFF, "").lower() != "true"


def begin_spans() -> Callable[[], None]:
    """Export spans from now on, where that is wanted; what sends the last of them at the end."""
    if not wanted():
        return lambda: None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        logger.warning('no spans: %s. Next: pip install "kernelwright[otel]"', error)
        return lambda: None
    from opentelemetry import trace

    from ...runners.version import __version__

    name = os.environ.get(SERVICE, "kernelwright")
    resource = Resource.create({"service.name": name, "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return lambda: _flush(provider)


def _flush(provider: Any) -> None:
    provider.force_flush(FLUSH_MS)


def carried() -> dict[str, str]:
    """The span under way in this context, as another process continues it; empty where none is."""
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


@contextmanager
def span(name: str, carrier: Mapping[str, str], **attributes: str) -> Generator[None]:
    """A span below the one that was carried here."""
    from opentelemetry import propagate, trace

    parent = propagate.extract(carrier) if carrier else None
    with trace.get_tracer(TRACER).start_as_current_span(name, parent, attributes=attributes):
        yield
