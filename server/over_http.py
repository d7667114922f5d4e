"""The application under uvicorn: one address, tokens asked for, other sites' pages kept out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .app import Application, audit_of, desk_of
from .http.addresses import Address, listening_at, same_site
from .http.gate import Gate
from .http.quiet import quieten
from .http.tokens import Token, Tokens, drawn, holder_of
from .observing.logs import begin_logs
from .observing.spans import begin_spans
from .work.ending import end_on_signals

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench

PATH: Final = "/mcp"
UI: Final = "/ui"
LARGEST_BODY: Final = 4 << 20
"""bytes of a request; a source is cut at less"""
MOST_SESSIONS: Final = 256
"""of clients of the older protocol, which hold one each"""


def asgi_app(application: Application, address: Address, tokens: Tokens, *more: Token) -> ASGIApp:
    """The protocol at PATH behind the gate. `more`: tokens for this run alone."""
    protocol = application.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST_BODY,
        max_sessions=MOST_SESSIONS,
        transport_security=same_site(address),
    )
    return Gate(protocol, lambda token: holder_of(token, (*tokens.kept(), *more)))


def with_dashboard(
    app: ASGIApp, address: Address, seen: Seen, tokens: Tokens, *more: Token
) -> ASGIApp:
    """The same, and at UI the dashboard, for who has a token of any scope."""
    from .dashboard.site import Site

    def allowed(token: str) -> bool:
        return holder_of(token, (*tokens.kept(), *more)) is not None

    site = Site(seen.bench, tokens.outdir, allowed, same_site(address)).application()

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path == UI:
            await RedirectResponse(f"{UI}/?{scope['query_string'].decode('latin-1')}", 307)(
                scope, receive, send
            )
        elif path.startswith(f"{UI}/"):
            await site({**scope, "root_path": UI}, receive, send)
        else:
            await app(scope, receive, send)

    return answered


class Seen:
    """The workbench that the dashboard reads by, opened when it is first looked at."""

    def __init__(self, outdir: Path) -> None:
        self._outdir = outdir
        self._lock = threading.Lock()
        self._open: Workbench | None = None

    def bench(self) -> Workbench:
        """It. Raises StoreError."""
        from ..search.session.workbench import Workbench

        with self._lock:
            if self._open is None:
                self._open = Workbench(self._outdir, [self._outdir])
            return self._open

    def close(self) -> None:
        """Close it, if it was opened."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None


def serve_http(outdir: Path, roots: Sequence[Path], gpus: Sequence[str], address: Address) -> None:
    """Serve clients until a signal comes. Raises SpecError where the address cannot be had.

    What a client asked for goes on when it goes; SIGINT, SIGTERM and SIGHUP end the process at
    once, with all that it started.
    """
    quieten()
    begin_logs()
    flush = begin_spans()
    listening = listening_at(address)
    tokens, more, said = Tokens(outdir), list[Token](), "as `kernelwright token list` says"
    if not tokens.kept():
        token, record = drawn("this-run", "work")
        more.append(record)
        said = f"for this run alone: {token}"
    desk = desk_of(outdir, roots, gpus)
    seen = Seen(outdir)
    app = asgi_app(Application(desk, audit_of(outdir)), address, tokens, *more)
    app = with_dashboard(app, address, seen, tokens, *more)
    end_on_signals(desk.close, seen.close, flush)
    host, port = listening.getsockname()[:2]
    at = f"[{host}]" if ":" in host else host
    print(f"serving MCP at http://{at}:{port}{PATH}", file=sys.stderr)
    print(f"token {said}", file=sys.stderr)
    print(f"dashboard at http://{at}:{port}{UI}/?token=TOKEN", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    try:
        _Server(config).run(sockets=[listening])
    finally:
        desk.close()
        seen.close()
        flush()


class _Server(uvicorn.Server):
    """Leaves signals to `end_on_signals`: uvicorn would wait for requests that wait for jobs."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
