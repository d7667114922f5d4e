"""The extension `io.modelcontextprotocol/tasks` (2026-07-28): jobs, as clients that declare it ask
for them.

A call whose work outlives it is answered with a task to a client that declares the extension, and
with the same job as a reply to all others. The task is the job: its id, what the store keeps of it,
whichever process does it. So a task is durable before it is told, survives every process, and is
kept without limit; `job` and `inspect` know it as well, and who may see the state sees its tasks.
Which calls become tasks says `wait_s`: what ends within it is answered as ever.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolRequestParams,
    CallToolResult,
    RequestParams,
    TextContent,
)

from ...runners.errors import KernelwrightError
from ..protocol.late import loaded
from ..protocol.replies import answer, error_text
from ..protocol.scopes import holder_of, may_work
from ..work.asker import asked_by

if TYPE_CHECKING:
    from ...tools.base import Arguments, Tool
    from .verbs import Task

TASKS: Final = "io.modelcontextprotocol/tasks"
VERSIONS: Final = frozenset({"2026-07-28"})
POLL_MS: Final = 1000
STATUS: Final[dict[str, str]] = {
    "queued": "working",
    "running": "working",
    "done": "completed",
    "failed": "completed",  # with isError: no error of the protocol
    "interrupted": "completed",
    "cancelled": "cancelled",
}
"""of a task, by the state of its job"""
UNDER_WAY: Final = frozenset(state for state, told in STATUS.items() if told == "working")
WAITS: Final = ("job", "cancel_job")
"""the tools that are asked about a job: their reply is its state, whoever asks"""
Perform = Callable[["Tool[Any, Any]", "Arguments"], Awaitable[Any]]
Wire = dict[str, Any]


class TaskParams(RequestParams):
    """Which task."""

    task_id: str


class UpdateParams(TaskParams):
    """What a task asked for."""

    input_responses: dict[str, Any]


class Tasks(Extension):
    """Tasks over whatever performs verbs."""

    identifier = TASKS

    def __init__(self, perform: Perform) -> None:
        self._perform = perform

    def methods(self) -> list[MethodBinding]:
        """See `Extension.methods`."""
        return [
            MethodBinding("tasks/get", TaskParams, _asked(self._get), VERSIONS),
            MethodBinding("tasks/update", UpdateParams, _asked(self._update), VERSIONS),
            MethodBinding("tasks/cancel", TaskParams, _asked(self._cancel), VERSIONS),
        ]

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]
    ) -> Any:
        """A task in place of a reply that says that the work is under way."""
        result = await call_next(ctx)
        if params.name in WAITS or not _declared(ctx) or not isinstance(result, CallToolResult):
            return result
        told: Wire = result.structured_content or {}
        if told.get("status") not in UNDER_WAY or "job_id" not in told:
            return result
        return {"resultType": "task", **_wire(await self._standing(ctx, told["job_id"]))}

    async def _get(self, ctx: Any, params: TaskParams) -> Wire:
        return {"resultType": "complete", **_wire(await self._standing(ctx, params.task_id))}

    async def _update(self, ctx: Any, params: UpdateParams) -> Wire:
        """No task of ours asks for anything, and answers to unknown questions are ignored."""
        await self._standing(ctx, params.task_id)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Any, params: TaskParams) -> Wire:
        """One that has ended stays as it ended, which is no error."""
        from ...tools.cancel_job import TOOL, CancelJobArguments

        if not may_work(ctx.request):
            raise MCPError(code=INVALID_REQUEST, message="a token of scope read cancels nothing")
        standing = await self._standing(ctx, params.task_id)
        if standing.reply.status in UNDER_WAY:
            try:
                await self._perform(TOOL, CancelJobArguments(job_id=params.task_id, wait_s=0))
            except KernelwrightError as error:
                if (await self._standing(ctx, params.task_id)).reply.status in UNDER_WAY:
                    raise _refusal(error, params.task_id) from error
        return {"resultType": "complete"}

    async def _standing(self, ctx: Any, task_id: str) -> Task:
        """How the job stands. Raises MCPError where there is none."""
        await loaded()
        from .verbs import TASK, TaskArguments

        try:
            with asked_by(holder_of(ctx.request)):
                return cast("Task", await self._perform(TASK, TaskArguments(job_id=task_id)))
        except KernelwrightError as error:
            raise _refusal(error, task_id) from error


def _asked(handle: Callable[[Any, Any], Awaitable[Wire]]) -> Callable[[Any, Any], Awaitable[Wire]]:
    """The same handler, for clients that declare the extension and, over HTTP, name the task in the
    header as in the body, by which a proxy routes."""

    async def handled(ctx: Any, params: TaskParams) -> Wire:
        if ctx.request is not None:
            named = decode_header_value(ctx.request.headers.get(MCP_NAME_HEADER))
            if named != params.task_id:
                said = f"the header {MCP_NAME_HEADER} names {named!r}, the body {params.task_id!r}"
                raise MCPError(code=HEADER_MISMATCH, message=said)
        require_client_extension(ctx, TASKS)
        return await handle(ctx, params)

    return handled


def _declared(ctx: Any) -> bool:
    capabilities = ctx.session.client_capabilities
    declared: Wire = (capabilities.extensions if capabilities else None) or {}
    return ctx.protocol_version in VERSIONS and TASKS in declared


def _wire(task: Task) -> Wire:
    """The task as the extension's schema has it."""
    reply = task.reply
    told: Wire = {
        "taskId": reply.job_id,
        "status": STATUS[reply.status],
        "createdAt": task.created_at,
        "lastUpdatedAt": task.updated_at,
        "ttlMs": None,
        "pollIntervalMs": POLL_MS,
    }
    if reply.status in UNDER_WAY:
        ahead = f"queued, {reply.ahead} before it" if reply.ahead is not None else reply.status
        return told | {"statusMessage": reply.progress or ahead}
    if reply.status == "cancelled":
        return told | {"statusMessage": reply.kept or "cancelled"}
    return told | {"result": _result(task)}


def _result(task: Task) -> Wire:
    """What the tool's own call would have been answered with."""
    if task.reply.status == "failed":
        said = TextContent(
            type="text", text=error_text(KernelwrightError(task.reply.error or ""), ())
        )
        result = CallToolResult(content=[said], is_error=True)
    else:
        result = answer(task.reply)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _refusal(error: KernelwrightError, task_id: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=error_text(error, [task_id]))
