"""The dashboard's addresses: a page with its script and style, data, and a stream of changes.

Everything asks for a token, which a link brings once and a cookie keeps: nothing here writes, but
sources are nobody else's business. All addresses are relative: it may stand anywhere in a server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.responses import StreamingResponse as Streaming
from starlette.routing import Route

from ...runners.errors import HandleUnknown, KernelwrightError
from ...store.store import STATE_FILE
from .facts import DATA

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench

LOOK_S: Final = 1.0
COOKIE: Final = "kernelwright_ui"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
OURS: Final = __package__ or ""
REPORT: Final = OURS.replace("dashboard", "report")
"""whose style a report's page and this one share"""
FILES = {
    "app.js": (OURS, "text/javascript"),
    "page.css": (REPORT, "text/css"),
    "style.css": (OURS, "text/css"),
}


class Site:
    """The application over one workbench, for who has a token."""

    def __init__(
        self,
        bench: Callable[[], Workbench],
        outdir: Path,
        allowed: Callable[[str], bool],
        names: TransportSecuritySettings,
    ) -> None:
        """`bench` is asked by threads; `allowed`: whether a token is one; `names`: by which the
        page may be called."""
        self._bench, self._outdir, self._allowed = bench, outdir, allowed
        self._names = TransportSecurityMiddleware(names)

    def application(self) -> Starlette:
        """What a web server serves."""
        routes = [Route(f"/data/{path}", self._json(answer)) for path, answer in DATA.items()]
        routes += [Route(f"/{name}", self._file(*place, name)) for name, place in FILES.items()]
        routes += [Route("/", self._page), Route("/live", self._live)]
        return Starlette(routes=routes)

    async def _refusal(self, request: Request) -> Response | None:
        foreign = await self._names.validate_request(request)
        if foreign is not None:
            said = "this page is served under another name\n"
            return Response(said, foreign.status_code, HEADERS)
        if not any(map(self._allowed, _given(request))):
            said = "open the link that was printed: it brings the token (?token=...)\n"
            return Response(said, 401, HEADERS)
        return None

    async def _page(self, request: Request) -> Response:
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        if "token" in request.query_params:  # out of the address, into a cookie
            place = request.scope.get("root_path", "") + "/"
            moved = RedirectResponse(place, 303, HEADERS)
            token = request.query_params["token"]
            if not self._allowed(token):  # an old link, and a cookie that holds: it stays
                return moved
            https = request.url.scheme == "https"
            moved.set_cookie(
                COOKIE, token, path=place, secure=https, httponly=True, samesite="strict"
            )
            return moved
        return HTMLResponse(_text(OURS, "index.html"), headers=HEADERS)

    def _file(self, package: str, kind: str, name: str) -> Any:
        async def answered(request: Request) -> Response:
            return await self._refusal(request) or Response(
                _text(package, name), 200, HEADERS, kind
            )

        return answered

    def _json(self, answer: Callable[[Workbench, str], Any]) -> Any:
        def found_for(request: Request) -> Any:
            return answer(self._bench(), next(iter(request.path_params.values()), ""))

        async def answered(request: Request) -> Response:
            refusal = await self._refusal(request)
            if refusal is not None:
                return refusal
            try:
                found = await anyio.to_thread.run_sync(found_for, request)
            except KernelwrightError as error:
                status = 404 if isinstance(error, HandleUnknown) else 500
                return JSONResponse({"error": str(error)}, status, HEADERS)
            return JSONResponse(found, headers=HEADERS)

        return answered

    async def _live(self, request: Request) -> Response:
        return await self._refusal(request) or Streaming(
            _changes(self._outdir, request), 200, HEADERS, "text/event-stream"
        )


async def _changes(outdir: Path, request: Request) -> AsyncGenerator[str]:
    """An event whenever the state changes; a comment while it does not, so that the end is seen."""
    known = _stands(outdir)
    yield f"data: {json.dumps({'stands': known})}\n\n"
    while not await request.is_disconnected():
        await anyio.sleep(LOOK_S)
        now = _stands(outdir)
        yield f"data: {json.dumps({'stands': now})}\n\n" if now != known else ": as before\n\n"
        known = now


def _given(request: Request) -> list[str]:
    """The tokens that a request brings: those of a link, and of a cookie."""
    sent = (request.query_params.get("token"), request.cookies.get(COOKIE))
    return [token for token in sent if token]


def _stands(outdir: Path) -> str:
    """Changes with each write to the state file, or to the log beside it."""
    told = list[str]()
    for name in (STATE_FILE, f"{STATE_FILE}-wal"):
        try:
            found = (outdir / name).stat()
            told.append(f"{found.st_mtime_ns}.{found.st_size}")
        except OSError:
            told.append("-")
    return " ".join(told)


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
