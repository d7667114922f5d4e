"""Who knocks at a real server without right, and what becomes of it.

Run: `python tests/clients/security.py`. Starts `kernelwright serve --http` over a small project
with a token of each scope, tries each thing that is told below, prints a table and writes
`benchmarks/results/mcp_security.json`. Ends with 1 where something was let in. As root it tries
other users' sockets as well. Builds nothing; needs no network. pytest does not collect it: the
parts have tests of their own beneath tests/server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from client_project import COMMAND, left_over, project, said_by, served
from environment import write

from kernelwright.runners.errors import KernelwrightError
from kernelwright.server.broker.place import Place

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "knocker", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
NOBODY = 65534
"""a user that is not root"""
GIANT = 64 << 20


@dataclass(frozen=True)
class Row:
    """One try."""

    tried: str
    wanted: str
    found: str

    @property
    def held(self) -> bool:
        """Whether it was kept out."""
        return self.found.startswith((self.wanted, "connection ended", "not tried"))


@dataclass(frozen=True)
class Served:
    """A server that runs, its folder, and tokens."""

    url: str
    folder: Path
    work: str
    read: str
    revoked: str

    @property
    def state(self) -> Path:
        """Its state folder."""
        return self.folder / "state"

    def post(self, token: str | None, **sent: Any) -> str:
        """The status that a request gets."""
        headers = ACCEPT | sent.pop("headers", {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        body: dict[str, Any] = sent or {"json": HELLO}
        try:
            return str(httpx2.post(self.url, headers=headers, timeout=60, **body).status_code)
        except httpx2.TransportError as error:
            return f"connection ended: {type(error).__name__}"

    def ui(self, path: str, **sent: Any) -> str:
        """The status that the dashboard answers with; the path is sent as it stands."""
        base = httpx2.URL(self.url)
        target = httpx2.URL(f"http://{base.host}:{base.port}", raw_path=path.encode())
        return str(httpx2.get(target, timeout=60, **sent).status_code)


def main() -> int:
    """Try, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kernelwright-security-") as made:
        os.chmod(made, 0o755)  # so that another user reaches the socket, and is refused there
        folder = project(Path(made) / "project")
        state = ["--outdir", str(folder / "state")]
        tokens = [said_by("token", "make", n, "--scope", s, *state).split()[-1] for n, s in SCOPES]
        said_by("token", "revoke", "gone", *state)
        with served([COMMAND, "serve", *state, "--root", str(folder), "--http", "0"]) as url:
            rows = list(tried(Served(url, folder, *tokens)))
        said_by("broker", "stop", *state)
        rows += list(sockets_of_others(Path(made)))
        left = left_over(folder)
    width = max(len(row.tried) for row in rows)
    for row in rows:
        print(f"{'held' if row.held else 'LET IN'}  {row.tried:{width}}  {row.found[:110]}")
    kept = {"rows": [asdict(row) | {"held": row.held} for row in rows], "left": left}
    print(f"{sum(row.held for row in rows)} of {len(rows)} held, {len(left)} processes left")
    print(f"written: {write('mcp_security', kept, asked.output)}")
    return 0 if all(row.held for row in rows) and not left else 1


SCOPES = (("worker", "work"), ("reader", "read"), ("gone", "work"))


def tried(at: Served) -> Iterator[Row]:
    """Everything over HTTP."""
    yield Row("its own token (so that the rest says something)", "200", at.post(at.work))
    yield Row("no token", "401", at.post(None))
    yield Row("a wrong token", "401", at.post("kw_" + "x" * 43))
    yield Row("a token of 1 MB", "4", at.post("x" * 1_000_000))
    yield Row("a revoked token", "401", at.post(at.revoked))
    in_link = httpx2.post(f"{at.url}?token={at.work}", json=HELLO, headers=ACCEPT, timeout=60)
    yield Row("a token in the address", "401", str(in_link.status_code))
    evil = {"Host": "evil.example:80"}
    yield Row("another site's name in Host", "421", at.post(at.work, headers=evil, json=HELLO))
    page = {"Origin": "https://evil.example"}
    yield Row("another site's Origin", "403", at.post(at.work, headers=page, json=HELLO))
    yield Row("a body of 64 MiB", "413", at.post(at.work, content=b"x" * GIANT))
    yield Row("the same in pieces, without a length", "413", at.post(at.work, content=pieces()))
    yield Row("the same without a token", "401", at.post(None, content=b"x" * (8 << 20)))
    yield from asyncio.run(called(at))
    for path in ("/ui/", "/ui/data/overview", "/ui/live", "/ui/app.js"):
        yield Row(f"dashboard {path} without a token", "401", at.ui(path))
    cookie = {"Cookie": f"kernelwright_ui={at.read}"}
    yield Row("dashboard under another site's name", "421", at.ui("/ui/", headers=cookie | evil))
    for path in (
        "/ui/../../etc/passwd",
        "/ui/%2e%2e/%2e%2e/etc/passwd",
        "/ui/data/variant/..%2f..",
    ):
        yield Row(f"dashboard {path}", "4", at.ui(path, headers=cookie))
    by_cookie = at.post(None, headers=cookie, json=HELLO)
    yield Row("the dashboard's cookie at the tools", "401", by_cookie)
    for name in ("http_tokens.json", "audit.jsonl", "broker.sock"):
        mode = stat.S_IMODE((at.state / name).stat().st_mode)
        yield Row(f"rights of others at {name}", "none", "none" if not mode & 0o077 else oct(mode))
    told = [each.name for each in at.state.rglob("*") if each.is_file() and holds(each, at)]
    yield Row("a token in a file of the state folder", "none", ", ".join(told) or "none")


async def called(at: Served) -> list[Row]:
    """What tools and resources say to who asks for what lies outside, or may only read."""
    (at.folder / "way_out").symlink_to("/etc")
    outside = ("/etc/passwd", "../../../../etc/passwd", "way_out/passwd", "spec.json\0/etc/passwd")
    rows = list[Row]()

    async def say(client: Client, tried: str, tool: str, **arguments: Any) -> None:
        result = await client.call_tool(tool, arguments)
        text = "".join(getattr(block, "text", "") for block in result.content)
        told = "refused" if result.is_error else "answered"
        rows.append(Row(tried, "refused", f"{told}: {text}".replace("\n", " ")))

    async with session(at, at.read) as client:
        for tool, given in (("open_kernel", {"spec_path": "spec.json"}), ("cancel_job", JOB)):
            await say(client, f"scope read calls {tool}", tool, **given)
    async with session(at, at.work) as client:
        for path in outside:
            await say(client, f"open_kernel of {path!r}", "open_kernel", spec_path=path)
        for uri in ("kernelwright://variant/../../etc/passwd", "file:///etc/passwd"):
            rows.append(Row(f"resource {uri}", "refused", await read(client, uri)))
    return rows


JOB = {"job_id": "j1"}


class session:
    """A client with a token, for as long as the body runs."""

    def __init__(self, at: Served, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx2.AsyncClient(headers=headers, timeout=120)
        self._client = Client(streamable_http_client(at.url, http_client=self._http))

    async def __aenter__(self) -> Client:
        return await self._client.__aenter__()

    async def __aexit__(self, *ended: Any) -> None:
        await self._client.__aexit__(*ended)
        await self._http.aclose()


async def read(client: Client, uri: str) -> str:
    """Whether a resource is read, or why not."""
    try:
        await client.read_resource(uri)
    except MCPError as error:
        return f"refused: {error.message}".replace("\n", " ")
    return "answered"


def pieces() -> Iterator[bytes]:
    """A giant body whose length nobody was told."""
    for _ in range(GIANT >> 20):
        yield b"x" * (1 << 20)


def holds(path: Path, at: Served) -> bool:
    """Whether a file has a token in it."""
    content = path.read_bytes()
    return any(token.encode() in content for token in (at.work, at.read, at.revoked))


def sockets_of_others(folder: Path) -> Iterator[Row]:
    """A broker's socket that belongs to somebody else, and somebody else at ours."""
    if os.getuid() != 0:
        yield Row("another user's socket", "refused", "not tried: it takes root to make one")
        return
    theirs = folder / "theirs"
    theirs.mkdir()
    with Place(theirs).listening():
        os.chown(Place(theirs).socket, NOBODY, NOBODY)
        try:
            Place(theirs).connected()
            found = "answered"
        except KernelwrightError as error:
            found = f"refused: {error}".replace("\n", " ")
    yield Row("another user's socket in our state folder", "refused", found)
    ours = folder / "ours"
    ours.mkdir()
    with Place(ours).listening():
        yield Row("another user at our socket", "refused", as_nobody(lambda: reached(ours)))


def reached(folder: Path) -> str:
    """Whether this process can connect to the socket there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        try:
            made.connect(str(Place(folder).socket))
        except OSError as error:
            return f"refused: {error.strerror}"
    return "answered"


def as_nobody(act: Callable[[], str]) -> str:
    """What another user finds, in a process of its own."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(tell, act().encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with os.fdopen(told) as stream:
        return stream.read()


if __name__ == "__main__":
    sys.exit(main())
