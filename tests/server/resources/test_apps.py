"""The page that clients show beside a search's reply (MCP Apps): whole, and fed by resources."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp import Client
from mcp_types import TextResourceContents
from server_talk import Era, Place, ask, result_of

from kernelwright.server.dashboard.facts import DATA
from kernelwright.server.protocol.apps import APPS, MIME, PAGE
from kernelwright.server.resources.kinds import SCHEME


async def content(client: Client, uri: str) -> TextResourceContents:
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    return found


async def data(client: Client, path: str) -> dict[str, Any]:
    return json.loads((await content(client, f"{SCHEME}dashboard/{path}")).text)


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_search_names_the_page_that_shows_it(era: Era, place: Place) -> None:
    async def body(client: Client) -> None:
        if era == "auto":  # the older handshake has no word for extensions
            assert client.server_capabilities is not None
            assert APPS in (client.server_capabilities.extensions or {})
        tools = (await client.list_tools()).tools
        named = {t.name: t.meta["ui"]["resourceUri"] for t in tools if t.meta and "ui" in t.meta}
        assert named == {"search_step": PAGE}
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        assert PAGE not in listed

    ask(place, body, era)


def test_the_page_is_one_document_that_asks_for_nothing_from_elsewhere(place: Place) -> None:
    async def body(client: Client) -> None:
        page = await content(client, PAGE)
        assert (page.mime_type, page.meta) == (MIME, {"ui": {"prefersBorder": True}})
        assert page.text.startswith("<!doctype html>")
        assert set(re.findall(r'(?:src|href)="([^"]*)"', page.text)) == {"data:,", "#kernel"}
        assert page.text.count("<script>") == page.text.count("</script>") == 2
        assert page.text.index("ui/initialize") < page.text.index("new EventSource")

    ask(place, body)


def test_what_the_page_asks_for_is_what_the_dashboard_shows(place: Place) -> None:
    async def body(client: Client) -> None:
        started = await result_of(
            client, "search_step", kernel_id=place.kernel_id, planner="client"
        )
        handles = {
            "kernel_id": place.kernel_id,
            "search_id": started["search_id"],
            "variant_id": started["incumbent"],
        }
        found = {path: await data(client, path.format(**handles)) for path in DATA}
        assert found["search/{search_id}"]["stands"]["search_id"] == started["search_id"]
        assert found["variant/{variant_id}"]["source"]
        assert "<h2" in found["kernel/{kernel_id}"]["html"]
        assert [s["search_id"] for s in found["overview"]["searches"]] == [started["search_id"]]

    ask(place, body)
