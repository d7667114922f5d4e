"""The Python SDK in one era: `python python_sdk.py auto|legacy`, the target as JSON on stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio
import httpx2
from journey import Report, journey
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

Era = Literal["auto", "legacy"]


async def drive(target: dict[str, Any], era: Era) -> Report:
    """The whole journey by one client."""
    report = Report()
    async with connected(target, era) as client:
        report.era = client.protocol_version
        report.tools = len((await client.list_tools()).tools)
        calls, reply = journey(report), None
        while True:
            try:
                tool, arguments = next(calls) if reply is None else calls.send(reply)
            except StopIteration:
                return report
            result = await client.call_tool(tool, arguments)
            if result.is_error or result.structured_content is None:
                raise RuntimeError(f"{tool}: {result.content}")
            reply = result.structured_content


@asynccontextmanager
async def connected(target: dict[str, Any], era: Era) -> AsyncGenerator[Client]:
    """A client over the target's transport."""
    if target["transport"] == "stdio":
        server = StdioServerParameters(command=target["command"], args=target["args"])
        async with Client(server, mode=era) as client:
            yield client
        return
    headers = {"Authorization": f"Bearer {target['token']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(target["url"], http_client=http), mode=era) as c:
            yield c


if __name__ == "__main__":
    chosen: Era = "legacy" if sys.argv[1] == "legacy" else "auto"
    print(anyio.run(drive, json.load(sys.stdin), chosen).line())
