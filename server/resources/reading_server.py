"""The half of the MCP application that reads: resources, completion, subscriptions, prompts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    GetPromptResult,
    PromptArgument,
    PromptMessage,
    PromptReference,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from mcp_types import Prompt as PromptOnWire

from ...runners.errors import KernelwrightError
from ..prompts.catalogue import PROMPTS, prompt
from ..protocol.kept_lists import kept_lists
from ..protocol.late import loaded
from ..protocol.replies import error_text
from .subscriptions import Subscriptions

if TYPE_CHECKING:
    from ...tools.base import Arguments, Tool

R = TypeVar("R")


class ReadingServer(MCPServer[None]):
    """Resources and prompts over whatever performs verbs."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        self.subscriptions = Subscriptions(self._versions)
        super().__init__(*given, subscriptions=self.subscriptions.bus, **settings)
        serve, ends = self._lowlevel_server.add_request_handler, self.subscriptions
        serve("resources/subscribe", SubscribeRequestParams, _refusing(ends.subscribe))
        serve("resources/unsubscribe", UnsubscribeRequestParams, _refusing(ends.unsubscribe))
        serve("subscriptions/listen", SubscriptionsListenRequestParams, _refusing(ends.listen))
        self.completion()(self._complete)

    @abstractmethod
    async def perform(self, tool: Tool[Any, Any], arguments: Arguments) -> Any:
        """The result of a verb, from a thread of its own. Raises KernelwrightError."""

    async def list_resources(self) -> list[Resource]:
        """Those that are there in every project."""
        return list(kept_lists().resources)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Those that have a handle."""
        return list(kept_lists().templates)

    async def read_resource(
        self, uri: Any, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        """A resource, whole. Raises MCPError for one that is not there."""
        await loaded()
        from .verbs import READ, ReadArguments

        try:
            found = await self.perform(READ, ReadArguments(uri=str(uri)))
        except KernelwrightError as error:
            raise _refusal(error, uri=str(uri)) from error
        return [ReadResourceContents(found.text, found.mime, found.meta)]

    async def list_prompts(self) -> list[PromptOnWire]:
        """Every prompt, in the order of PROMPTS."""
        return [
            PromptOnWire(
                name=each.name,
                title=each.title,
                description=each.description,
                arguments=[
                    PromptArgument(
                        name=a.name, description=a.description, required=a.default is None
                    )
                    for a in each.arguments
                ],
            )
            for each in PROMPTS
        ]

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[None, Any] | None = None,
    ) -> GetPromptResult:
        """The message of a prompt. Raises MCPError for an unknown one, or what it lacks."""
        try:
            found = prompt(name)
            text = found.render(arguments or {})
        except KernelwrightError as error:
            raise _refusal(error, name=name) from error
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=found.description, messages=[message])

    async def _complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _: CompletionContext | None,
    ) -> Completion | None:
        await loaded()
        from .serving import completion, is_known
        from .verbs import COMPLETE, CompleteArguments

        if not is_known(ref, argument.name):
            return None
        asked = CompleteArguments(variable=argument.name, begun=argument.value)
        found = await self.perform(COMPLETE, asked)
        return completion(found.values, found.total)

    async def _versions(self, uris: tuple[str, ...]) -> dict[str, str]:
        await loaded()
        from .verbs import VERSIONS, WatchArguments

        found = await self.perform(VERSIONS, WatchArguments(uris=uris))
        return dict(found.versions)


def _refusing(handle: Callable[[Any, Any], Awaitable[R]]) -> Callable[[Any, Any], Awaitable[R]]:
    """The same handler, whose refusals are errors of the protocol."""

    async def handled(context: Any, params: Any) -> R:
        try:
            return await handle(context, params)
        except KernelwrightError as error:
            raise _refusal(error) from error

    return handled


def _refusal(error: KernelwrightError, **data: str) -> MCPError:
    return MCPError(
        code=INVALID_PARAMS, message=error_text(error, list(data.values())), data=data or None
    )
