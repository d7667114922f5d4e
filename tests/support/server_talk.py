"""Conversations with a server in memory: what is asked, and the answers in full."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
from kernels import TinyKernel, tiny_kernel, with_known_peaks
from mcp import Client
from mcp_types import CallToolResult, TextContent

from kernelwright.server.app import make_app
from kernelwright.server.protocol.arguments import read_arguments
from kernelwright.server.protocol.replies import MOST_CHARS
from kernelwright.tools import TOOLS

Era = Literal["auto", "legacy"]
T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """A state folder in which the tiny kernel is open."""

    outdir: Path
    kernel: TinyKernel
    kernel_id: str


def talk(outdir: Path, root: Path, body: Callable[[Client], Awaitable[T]], era: Era = "auto") -> T:
    """One conversation with a server of its own."""

    async def conversation() -> T:
        async with Client(make_app(outdir, [root]), mode=era) as client:
            return await body(client)

    return anyio.run(conversation)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    assert len(text_of(result)) <= MOST_CHARS
    can_be_made(result.structured_content)
    return result.structured_content


def can_be_made(reply: dict[str, Any]) -> None:
    """Every call that a reply names as next is one that its tool takes."""
    known = {tool.name: tool for tool in TOOLS}
    for told in (*reply.get("next", ()), *reply.get("result", {}).get("next", ())):
        name, _, arguments = told.partition(" ")
        read_arguments(name, known[name].arguments, json.loads(arguments))


async def result_of(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool that works, waited for as the reply says."""
    reply = await call(client, tool, **arguments)
    while reply["status"] in ("queued", "running"):
        reply = await ended(client, reply["job_id"])
    assert reply["status"] == "done", reply
    return reply["result"]


async def ended(client: Client, job_id: str, **arguments: Any) -> dict[str, Any]:
    """A job that is over."""
    job = await call(client, "job", job_id=job_id, **arguments)
    while job["status"] in ("queued", "running"):
        job = await call(client, "job", job_id=job_id)
    return job


async def jobs_of(client: Client) -> list[dict[str, Any]]:
    """All jobs, the newest first."""
    return (await call(client, "inspect", what="jobs", limit=1000))["entries"]


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that fails."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and len(text_of(result)) <= MOST_CHARS
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def ask(place: Place, body: Callable[[Client], Awaitable[T]], era: Era = "auto") -> T:
    return talk(place.outdir, place.kernel.folder, body, era)


def place_in(folder: Path) -> Place:
    """A project in the folder with the tiny kernel, opened."""
    kernel = tiny_kernel(folder)
    outdir = with_known_peaks(folder / "state")
    opened = talk(outdir, folder, partial(result_of, tool="open_kernel", spec_path="spec.json"))
    return Place(outdir, kernel, opened["kernel_id"])
