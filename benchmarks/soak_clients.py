"""The connections of a soak's clients: Python SDK, over stdio and HTTP, in both eras."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Literal, cast

import anyio
import httpx2
import psutil
from client_project import COMMAND
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from soak_world import MARK, World

Era = Literal["auto", "legacy"]
ANSWER_S: Final = 300.0
"""for an answer; a call waits 9 s at most, and a broker may have to start meanwhile, on a machine
that others use: what it took is in the result"""
CLIENT_MARK: Final = f"{MARK}_CLIENT"


class Lost(Exception):
    """The client is to connect anew."""


@asynccontextmanager
async def connected(
    world: World, transport: str, era: Era, mark: str = "one"
) -> AsyncGenerator[tuple[Client, Callable[[], None] | None]]:
    """A client, and what kills the server that is its alone."""
    if transport == "stdio":
        marks = {MARK: world.mark, CLIENT_MARK: mark}
        server = StdioServerParameters(command=COMMAND, args=world.serve, env=marks)
        async with Client(server, mode=era) as client:
            yield client, lambda: kill_server(mark)
        return
    headers = {"Authorization": f"Bearer {world.token}"}
    url = f"http://127.0.0.1:{world.port}/mcp"
    async with httpx2.AsyncClient(headers=headers, timeout=ANSWER_S) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=era) as client:
            yield client, None


async def later(kill: Callable[[], None], seconds: float) -> None:
    """Do it in the middle of a call."""
    await anyio.sleep(seconds)
    kill()


def kill_server(mark: str) -> None:
    """Kill the stdio server of one client."""
    for process in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if process.environ().get(CLIENT_MARK) == mark:
                os.kill(process.pid, signal.SIGKILL)


def flat(failure: BaseException) -> str:
    """What is in a group of exceptions, in a line."""
    if isinstance(failure, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[Any]", failure)
        return "; ".join(flat(each) for each in group.exceptions)
    return f"{type(failure).__name__}: {failure}"
