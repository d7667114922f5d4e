"""The server over HTTP: real clients of both eras, and what knocks without being let in."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import httpx2
import pytest
from kernels import TinyKernel, tiny_kernel, with_known_peaks
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from kernelwright.server.http.tokens import Tokens

T = TypeVar("T")
Era = Literal["auto", "legacy"]
COMMAND = (sys.executable, "-c", "from kernelwright.server.cli import main; main()")


@dataclass(frozen=True)
class Served:
    """A server that runs, and a token of each scope."""

    url: str
    kernel: TinyKernel
    tokens: Tokens
    work: str
    read: str
    said: str
    """what it said on stderr when it began"""

    def talk(self, token: str, body: Callable[[Client], Awaitable[T]], era: Era = "auto") -> T:
        """What a client with that token finds."""

        async def session() -> T:
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                transport = streamable_http_client(self.url, http_client=http)
                async with Client(transport, mode=era) as client:
                    return await body(client)

        return anyio.run(session)

    def post(self, **headers: str) -> httpx2.Response:
        """An answer to a bare request with these headers besides those of the protocol."""
        sent = {"Accept": "application/json, text/event-stream", **headers}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return httpx2.post(self.url, json=ping, headers=sent, timeout=60)


class Server:
    """A server as a user starts it, ended by SIGTERM."""

    def __init__(self, folder: Path, *options: str) -> None:
        state = ["--outdir", str(folder / "state"), "--root", str(folder)]
        command = [*COMMAND, "serve", *state, *options]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> tuple[subprocess.Popen[str], Sequence[str]]:
        assert self.process.stderr is not None
        return self.process, [self.process.stderr.readline() for _ in range(2)]

    def __exit__(self, *_: object) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            os.kill(self.process.pid, signal.SIGTERM)
            assert self.process.wait(30) == 128 + signal.SIGTERM


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with_known_peaks(folder / "state")
    kernel, tokens = tiny_kernel(folder), Tokens(folder / "state")
    work, read = tokens.make("laptop", "work"), tokens.make("reader", "read")
    with Server(folder, "--http", "0") as (process, lines):
        url = re.findall(r"http://\S+", lines[0])[0]
        yield Served(url, kernel, tokens, work, read, "".join(lines))
        assert process.poll() is None, "it has outlived all that the tests sent"


def refusal(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert answer.is_error and isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_kernel_is_opened_and_a_variant_built_over_http(served: Served, era: Era) -> None:
    async def work(client: Client) -> Any:
        opened = await client.call_tool(
            "open_kernel", {"spec_path": str(served.kernel.folder / "spec.json"), "wait_s": 45}
        )
        assert opened.structured_content is not None, opened.content
        kernel_id = opened.structured_content["result"]["kernel_id"]
        changed = served.kernel.source.read_text("utf-8") + f"// {era}\n"
        return await client.call_tool(
            "compile_variant", {"kernel_id": kernel_id, "source": changed, "wait_s": 45}
        )

    built = served.talk(served.work, work, era)
    assert built.structured_content["result"]["ok"], built.content


def test_who_may_only_read_reads_and_is_told_what_else_needs(served: Served) -> None:
    async def reads(client: Client) -> tuple[Any, str, int]:
        host = await client.call_tool("inspect", {"what": "host"})
        spec = {"spec_path": str(served.kernel.folder / "spec.json")}
        refused = await client.call_tool("open_kernel", spec)
        return host.structured_content, refusal(refused), len((await client.list_tools()).tools)

    host, refused, tools = served.talk(served.read, reads)
    assert host and tools > 10
    assert "of scope read" in refused and "inspect" in refused and "token make" in refused


def test_no_token_lets_its_holder_run_programs_with_the_servers_rights(served: Served) -> None:
    async def runs(client: Client) -> str:
        return refusal(await client.call_tool("record_program", {"command": ["touch", "there"]}))

    refused = served.talk(served.work, runs)
    assert "with the rights of whoever started this server" in refused and "stdio" in refused
    assert not (served.kernel.folder / "there").exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer kw_no"}, 401),
        ({"Authorization": "TOKEN", "Host": "evil.example"}, 421),
        ({"Authorization": "TOKEN", "Origin": "http://evil.example"}, 403),
        ({"Authorization": "TOKEN", "Content-Type": "text/plain"}, 400),
    ],
)
def test_what_is_not_let_in(served: Served, headers: dict[str, str], status: int) -> None:
    sent = {k: v.replace("TOKEN", f"Bearer {served.work}") for k, v in headers.items()}
    assert served.post(**sent).status_code == status


def test_a_giant_body_is_refused_before_it_is_read(served: Served) -> None:
    answer = httpx2.post(
        served.url,
        content=b"x" * (5 << 20),
        headers={"Authorization": f"Bearer {served.work}", "Content-Type": "application/json"},
        timeout=60,
    )
    assert answer.status_code == 413


def test_a_session_of_one_holder_is_not_anothers(served: Served) -> None:
    async def other_token(_: Client) -> int:
        return 0

    assert served.talk(served.work, other_token, "legacy") == 0
    first = httpx2.post(
        served.url,
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        headers={
            "Authorization": f"Bearer {served.work}",
            "Accept": "application/json, text/event-stream",
        },
        timeout=60,
    )
    session = {"Mcp-Session-Id": first.headers["mcp-session-id"]}
    assert served.post(Authorization=f"Bearer {served.read}", **session).status_code == 404
    assert served.post(Authorization=f"Bearer {served.work}", **session).status_code == 200


def test_a_token_is_refused_from_the_moment_it_is_revoked(served: Served) -> None:
    guest = served.tokens.make("guest", "read")
    assert served.post(Authorization=f"Bearer {guest}").status_code != 401
    served.tokens.revoke("guest")
    assert served.post(Authorization=f"Bearer {guest}").status_code == 401


def test_the_dashboard_is_shown_to_who_may_read_and_to_nobody_else(served: Served) -> None:
    base = served.url.removesuffix("mcp") + "ui"
    with httpx2.Client(follow_redirects=True, timeout=60) as browser:
        assert browser.get(f"{base}/data/overview").status_code == 401
        assert browser.get(base, params={"token": "kw_nobodys"}).status_code == 401
        page = browser.get(base, params={"token": served.read})
        assert page.status_code == 200 and str(page.url) == f"{base}/", "the token is out of it"
        assert browser.get(f"{base}/app.js").status_code == 200
        assert browser.get(f"{base}/data/overview").json()["kernels"] is not None
        foreign = browser.get(f"{base}/data/overview", headers={"Host": "evil.example"})
        assert foreign.status_code == 421
        assert browser.post(served.url, json={}).status_code == 401, "its cookie opens no tool"


def test_where_tokens_are_kept_none_is_printed(served: Served) -> None:
    assert "kw_" not in served.said and "token list" in served.said


def test_where_no_token_was_made_one_of_this_run_is_printed(tmp_path: Path) -> None:
    with Server(tmp_path, "--http", "127.0.0.1:0") as (_, lines):
        url, token = re.findall(r"http://\S+", lines[0])[0], re.findall(r"kw_\S+", lines[1])[0]
        assert httpx2.post(url, json={}, timeout=60).status_code == 401
        sent = {"Authorization": f"Bearer {token}"}
        assert httpx2.post(url, json={}, headers=sent, timeout=60).status_code not in (401, 403)
    assert not (tmp_path / "state" / "http_tokens.json").exists()
