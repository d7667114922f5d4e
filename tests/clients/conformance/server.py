"""The real server over HTTP with the conformance suite's fixtures beside its own tools.

Run: `python server.py PORT STATE --conformance`; without the flag it is the product as
it is. Nothing of the application is replaced: what the product has, it answers, and the fixtures
are asked only for what the product does not know. The suite sends no token, so one is put into its
requests before the gate sees them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import uvicorn
from fixtures import as_listed
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp_types import (
    CallToolResult,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    Resource,
    ResourceTemplate,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types import Tool as ToolOnWire
from questions import fixtures
from starlette.types import ASGIApp, Receive, Scope, Send

from kernelwright.server.app import Application
from kernelwright.server.http.addresses import Address, listening_at
from kernelwright.server.http.tokens import Tokens, drawn
from kernelwright.server.over_http import asgi_app
from kernelwright.server.work.desk import Desk
from kernelwright.tools import TOOLS

OURS = {tool.name for tool in TOOLS}
THEIRS = "test://"


class Conforming(Application):
    """The application with the fixtures after what it has itself."""

    def with_fixtures(self) -> Conforming:
        """Answer for what the suite subscribes to and sets as well."""
        server = self._lowlevel_server
        server.get_tool_input_schema = self._schema_of
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, _level)
        for method, params in SUBSCRIBING.items():
            kept = server.get_request_handler(method)
            assert kept is not None
            server.add_request_handler(method, params, _or_theirs(kept.handler))
        return self

    async def list_tools(self) -> list[ToolOnWire]:
        """Ours first."""
        return [*await super().list_tools(), *map(as_listed, await fixtures.list_tools())]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> CallToolResult | InputRequiredResult:
        """Ours, or a fixture."""
        known = OURS | {tool.name for tool in await fixtures.list_tools()}
        asked = super() if name in OURS or name not in known else fixtures
        return await asked.call_tool(name, arguments, context)

    async def list_resources(self) -> list[Resource]:
        """Ours first."""
        return [*await super().list_resources(), *await fixtures.list_resources()]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Ours first."""
        theirs = await fixtures.list_resource_templates()
        return [*await super().list_resource_templates(), *theirs]

    async def read_resource(
        self, uri: Any, context: Any = None
    ) -> Iterable[ReadResourceContents] | Any:
        """Ours, or a fixture."""
        listed = {str(each.uri) for each in await fixtures.list_resources()}
        known = str(uri) in listed or str(uri).startswith(f"{THEIRS}template/")
        return await (fixtures if known else super()).read_resource(uri, context)

    async def list_prompts(self) -> list[Prompt]:
        """Ours first."""
        return [*await super().list_prompts(), *await fixtures.list_prompts()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> GetPromptResult | Any:
        """Ours, or a fixture."""
        known = {prompt.name for prompt in await fixtures.list_prompts()}
        return await (fixtures if name in known else super()).get_prompt(name, arguments, context)

    def _schema_of(self, name: str) -> dict[str, Any] | None:
        found = fixtures._tool_manager.get_tool(name)  # pyright: ignore[reportPrivateUsage]
        if found is None:
            return self._tool_input_schema(name)
        return as_listed(ToolOnWire(name=name, input_schema=found.parameters)).input_schema


SUBSCRIBING: dict[str, Any] = {
    "resources/subscribe": SubscribeRequestParams,
    "resources/unsubscribe": UnsubscribeRequestParams,
}


def _or_theirs(ours: Any) -> Any:
    async def handled(context: Any, params: Any) -> Any:
        if str(params.uri).startswith(THEIRS):
            return EmptyResult()
        return await ours(context, params)

    return handled


async def _level(context: Any, params: SetLevelRequestParams) -> EmptyResult:
    return EmptyResult()


def with_token(app: ASGIApp, token: str) -> ASGIApp:
    """The same for a client that cannot send a token."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = (b"authorization", f"Bearer {token}".encode())
            scope = {**scope, "headers": [*scope["headers"], sent]}
        await app(scope, receive, send)

    return answered


def main() -> None:
    """Print the address, and serve until a signal comes."""
    port, state, flags = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    desk = Desk(state, [state], ())
    application = Conforming(desk).with_fixtures() if flags else Application(desk)
    address = Address("127.0.0.1", port)
    token, record = drawn("conformance", "work")
    listening = listening_at(address)
    app = with_token(asgi_app(application, address, Tokens(state), record), token)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
