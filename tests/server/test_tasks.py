"""Work as tasks of the protocol's extension, through the SDK's own client that declares it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio
import pytest
from kernels import ENDLESS, FASTER
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict
from server_talk import Place, call, text_of

from kernelwright.server.app import make_app
from kernelwright.server.resources.tasks import TASKS

LONG_S = 60


class TaskResult(Result):
    """Any answer about a task, whole."""

    model_config = ConfigDict(extra="allow")


class Created(TaskResult):
    result_type: Literal["task"]  # pyright: ignore[reportIncompatibleVariableOverride]


class TaskParams(RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskRequest(Request[TaskParams, Any]):
    name_param = "taskId"


class Declaring(ClientExtension):
    """Declares tasks, keeps those that were created, and polls each to its end."""

    identifier = TASKS

    def __init__(self) -> None:
        self.created = list[dict[str, Any]]()

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._kept)]

    async def _kept(self, created: Created, _: ClaimContext) -> CallToolResult:
        self.created.append(created.model_dump(by_alias=True, mode="json"))
        return CallToolResult(content=[])


async def told(client: Client, method: str, task_id: str, **more: Any) -> dict[str, Any]:
    params = TaskParams(task_id=task_id, **more)
    request = TaskRequest(method=f"tasks/{method}", params=params)
    answer = await client.session.send_request(request, TaskResult)
    return answer.model_dump(by_alias=True, mode="json")


async def ended(client: Client, task_id: str) -> dict[str, Any]:
    with anyio.fail_after(LONG_S):
        while (task := await told(client, "get", task_id))["status"] == "working":
            assert task["statusMessage"]
            await anyio.sleep(task["pollIntervalMs"] / 10_000)
    return task


def ask(place: Place, body: Callable[[Client, Declaring], Awaitable[None]]) -> None:
    async def conversation() -> None:
        tasks = Declaring()
        app = make_app(place.outdir, [place.kernel.folder])
        async with Client(app, extensions=[tasks]) as client:
            await body(client, tasks)

    anyio.run(conversation)


async def begun(client: Client, tasks: Declaring, tool: str, **arguments: Any) -> dict[str, Any]:
    await client.call_tool(tool, arguments | {"wait_s": 0})
    return tasks.created[-1]


def test_work_that_outlives_its_call_is_a_task_whose_result_is_the_tools_own(place: Place) -> None:
    async def body(client: Client, tasks: Declaring) -> None:
        task = await begun(
            client, tasks, "compile_variant", kernel_id=place.kernel_id, options=FASTER
        )
        assert (task["status"], task["ttlMs"]) == ("working", None)
        over = await ended(client, task["taskId"])
        assert (over["status"], over["createdAt"]) == ("completed", task["createdAt"])
        job = await call(client, "job", job_id=task["taskId"])
        assert over["result"]["structuredContent"] == job
        assert job["result"]["ok"]

    ask(place, body)


def test_work_that_ends_within_its_call_is_no_task_nor_is_what_only_looks(place: Place) -> None:
    async def body(client: Client, tasks: Declaring) -> None:
        built = await client.call_tool(
            "compile_variant", {"kernel_id": place.kernel_id, "options": FASTER, "wait_s": 45}
        )
        await call(client, "inspect", what="jobs")
        assert not built.is_error and not tasks.created

    ask(place, body)


def test_a_task_is_cancelled_and_stays_so(place: Place) -> None:
    async def body(client: Client, tasks: Declaring) -> None:
        built = await client.call_tool(
            "compile_variant", {"kernel_id": place.kernel_id, "source": ENDLESS, "wait_s": 45}
        )
        assert built.structured_content is not None
        variant: str = built.structured_content["result"]["variant_id"]
        task = await begun(client, tasks, "time_variant", variant_id=variant)
        for _ in range(2):
            assert await told(client, "cancel", task["taskId"])
            over = await ended(client, task["taskId"])
            assert over["status"] == "cancelled" and "result" not in over
        assert (await told(client, "update", task["taskId"], input_responses={"x": {}})) is not None

    ask(place, body)


def test_a_task_that_fails_has_the_refusal_as_its_result(place: Place) -> None:
    async def body(client: Client, tasks: Declaring) -> None:
        task = await begun(
            client, tasks, "export_variant", variant_id=place.kernel_id, path="best.cpp"
        )
        over = await ended(client, task["taskId"])
        assert over["status"] == "completed" and over["result"]["isError"]
        assert "Next:" in over["result"]["content"][0]["text"]

    ask(place, body)


def test_a_task_that_is_not_there_is_refused_in_words(place: Place) -> None:
    async def body(client: Client, _: Declaring) -> None:
        for method in ("get", "cancel"):
            with pytest.raises(MCPError, match="j99999"):
                await told(client, method, "j99999")

    ask(place, body)


def test_who_does_not_declare_tasks_is_told_of_a_job_and_may_not_ask(place: Place) -> None:
    async def body() -> None:
        async with Client(make_app(place.outdir, [place.kernel.folder])) as client:
            reply = await client.call_tool(
                "compile_variant", {"kernel_id": place.kernel_id, "options": FASTER, "wait_s": 0}
            )
            assert reply.structured_content is not None
            job_id: str = reply.structured_content["job_id"]
            assert job_id in text_of(reply)
            with pytest.raises(MCPError, match="tasks"):
                await told(client, "get", job_id)

    anyio.run(body)
