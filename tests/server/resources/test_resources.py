"""Resources, completion, subscriptions and prompts, through clients of both eras."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from kernels import FASTER
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    TextContent,
    TextResourceContents,
)
from server_talk import Era, Place, ask, call, result_of

from kernelwright.server.app import make_app
from kernelwright.server.prompts.catalogue import PROMPTS
from kernelwright.server.resources.kinds import KINDS, SCHEME
from kernelwright.store.job_rows import put_job
from kernelwright.store.jobs import JobRecord
from kernelwright.store.store import STATE_FILE, Store
from kernelwright.tools.parts.jobs import this_process

RUNNING = JobRecord(
    job_id="j901",
    tool="time_variant",
    arguments={},
    state="running",
    owner=this_process(),
    submitted_at="2026-01-01T00:00:00+00:00",
)
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


def write(place: Place, job: JobRecord) -> None:
    with Store.open(place.outdir / STATE_FILE) as store, store.transaction() as writer:
        put_job(writer, job)


async def read(client: Client, address: str) -> str:
    (content,) = (await client.read_resource(SCHEME + address)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def refusal(client: Client, address: str) -> str:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(SCHEME + address)
    return caught.value.message


@ERAS
def test_every_kind_of_resource_that_is_listed_can_be_read(era: Era, place: Place) -> None:
    async def body(client: Client) -> None:
        built = await result_of(
            client, "compile_variant", kernel_id=place.kernel_id, options=FASTER
        )
        started = await result_of(
            client, "search_step", kernel_id=place.kernel_id, planner="client"
        )
        jobs = json.loads(await read(client, "jobs"))
        handles = {
            "kernel_id": place.kernel_id,
            "variant_id": built["variant_id"],
            "search_id": started["search_id"],
            "job_id": jobs[0]["job_id"],
            "skill_id": "host-loops",
        }
        listed = [str(r.uri) for r in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        for uri in [*listed, *(each.uri_template for each in templates)]:
            text = await read(client, uri.removeprefix(SCHEME).format(**handles))
            assert text.strip() or uri.endswith("/events"), uri
        assert len(listed) + len(templates) == len(KINDS)
        source = await read(client, f"variant/{built['variant_id']}/source")
        assert source == place.kernel.source.read_text("utf-8")
        assert "host C++" in await read(client, f"variant/{built['variant_id']}/ptx")

    ask(place, body, era)


@ERAS
def test_what_is_not_there_is_refused_with_what_is(era: Era, place: Place) -> None:
    async def body(client: Client) -> None:
        assert "kernel/{kernel_id}" in await refusal(client, "nothing/at/all")
        assert place.kernel_id in await refusal(client, "kernel/bump-00000000")
        for outside in ("variant/../../etc/passwd", "variant/%2e%2e%2f/source", "kernel//source"):
            assert "there is no resource" in await refusal(client, outside)
        assert "close: " in await refusal(client, "skill/host-lops")

    ask(place, body, era)


def test_handles_are_completed_where_an_address_or_a_prompt_wants_one(place: Place) -> None:
    async def body(client: Client) -> None:
        template = ResourceTemplateReference(uri=SCHEME + "kernel/{kernel_id}/source")
        found = await client.complete(template, {"name": "kernel_id", "value": "bu"})
        assert place.kernel_id in found.completion.values
        prompt = PromptReference(name="explain_bottleneck")
        found = await client.complete(prompt, {"name": "variant", "value": "v"})
        assert found.completion.values and not found.completion.has_more
        found = await client.complete(template, {"name": "other", "value": ""})
        assert not found.completion.values

    ask(place, body)


def test_a_subscriber_hears_when_a_job_changes_its_state(place: Place) -> None:
    async def body(client: Client) -> None:
        write(place, RUNNING)
        uri = SCHEME + "job/j901"
        with anyio.fail_after(60):
            async with client.listen(resource_subscriptions=[uri]) as events:
                write(place, RUNNING.model_copy(update={"state": "done", "result": {}}))
                async for event in events:
                    assert event == ResourceUpdated(uri=uri)
                    break
        with pytest.raises(MCPError, match="cannot be subscribed to"):
            async with client.listen(resource_subscriptions=[SCHEME + "host"]):
                pass

    ask(place, body)


@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
def test_a_subscriber_of_the_older_protocol_hears_it_too(place: Place) -> None:
    heard = list[str]()
    told = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            told.set()

    async def body() -> None:
        uri = SCHEME + "job/j902"
        write(place, RUNNING.model_copy(update={"job_id": "j902"}))
        app = make_app(place.outdir, [place.kernel.folder])
        async with Client(app, mode="legacy", message_handler=hear) as client:
            capabilities = client.server_capabilities
            assert capabilities.resources and capabilities.resources.subscribe
            await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]
            write(place, RUNNING.model_copy(update={"job_id": "j902", "state": "cancelled"}))
            with anyio.fail_after(60):
                await told.wait()
            await client.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]
            with pytest.raises(MCPError, match="cannot be subscribed to"):
                await client.subscribe_resource(SCHEME + "host")  # pyright: ignore[reportDeprecated]
        assert heard == [uri]

    anyio.run(body)


@ERAS
def test_every_prompt_names_tools_that_there_are_and_what_it_was_given(
    era: Era, place: Place
) -> None:
    given = {
        "source": "scale.cpp",
        "goal": "faster for n = 4096",
        "kernel": "bump-1a2b3c4d",
        "search": "s01234567",
        "to": "triton",
    }

    async def body(client: Client) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        listed = (await client.list_prompts()).prompts
        assert [each.name for each in listed] == [each.name for each in PROMPTS]
        for each in listed:
            names = [a.name for a in each.arguments or ()]
            arguments = {name: given[name] for name in names if name in given}
            (message,) = (await client.get_prompt(each.name, arguments)).messages
            assert isinstance(message.content, TextContent)
            assert all(v in message.content.text for v in arguments.values())
            assert any(tool in message.content.text for tool in tools)
            with pytest.raises(MCPError, match="needs `"):
                await client.get_prompt(each.name, {})
        with pytest.raises(MCPError, match="optimize, explain_bottleneck"):
            await client.get_prompt("optimise", {})

    ask(place, body, era)


def test_what_a_resource_holds_is_what_inspect_shows(place: Place) -> None:
    async def body(client: Client) -> None:
        told: dict[str, Any] = await call(client, "inspect", what="kernel", id=place.kernel_id)
        assert json.loads(await read(client, f"kernel/{place.kernel_id}")) == told["facts"]

    ask(place, body)
