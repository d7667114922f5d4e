"""The gate: who holds no token goes no further, and no holder takes all the room."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any, cast

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from kernelwright.server.http.gate import MOST_AT_ONCE, Gate
from kernelwright.server.http.tokens import Token, drawn, holder_of
from kernelwright.server.protocol.scopes import may_work

TOKEN, LAPTOP = drawn("laptop", "work")
READS, READER = drawn("reader", "read")


class Request:
    """What the SDK hands on of a request."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope


class Behind:
    """The application behind the gate: notes what reaches it, and answers when it is let."""

    def __init__(self) -> None:
        self.seen = list[Scope]()
        self.answers = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope)
        await self.answers.wait()


def holder(token: str) -> Token | None:
    return holder_of(token, (LAPTOP, READER))


async def nothing() -> MutableMapping[str, Any]:
    return {"type": "http.disconnect"}


async def asked(gate: Gate, *headers: tuple[bytes, bytes]) -> list[MutableMapping[str, Any]]:
    """What is sent in answer to a request with these headers."""
    sent = list[MutableMapping[str, Any]]()

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await gate({"type": "http", "headers": list(headers)}, nothing, send)
    return sent


def bearer(token: str) -> tuple[bytes, bytes]:
    return b"authorization", f"Bearer {token}".encode()


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"")],
        [(b"authorization", TOKEN.encode())],
        [(b"authorization", b"Basic " + TOKEN.encode())],
        [bearer("")],
        [bearer(TOKEN[:-1])],
        [bearer(TOKEN + "x" * 10_000)],
        [bearer(LAPTOP.digest)],
        [(b"authorization", b"Bearer \xff\xfe")],
        [(b"x-token", TOKEN.encode())],
    ],
)
def test_who_holds_no_token_gets_no_further(headers: list[tuple[bytes, bytes]]) -> None:
    behind = Behind()
    start, body = anyio.run(asked, Gate(behind, holder), *headers)
    assert behind.seen == [] and start["status"] == 401
    assert dict(start["headers"])[b"www-authenticate"].startswith(b"Bearer")
    assert "kernelwright token make" in json.loads(body["body"])["error_description"]


@pytest.mark.parametrize(("token", "works"), [(TOKEN, True), (READS, False)], ids=["work", "read"])
def test_who_holds_one_is_known_behind_the_gate(token: str, works: bool) -> None:
    async def all_of_it() -> Scope:
        behind = Behind()
        behind.answers.set()
        await asked(Gate(behind, holder), bearer(token))
        (scope,) = behind.seen
        return scope

    scope = anyio.run(all_of_it)
    assert may_work(Request(scope)) is works
    assert token not in repr(cast("dict[str, object]", vars(scope["user"])))


def test_without_a_request_or_with_an_unknown_one_rights_are_those_of_its_door() -> None:
    assert may_work(None), "over stdio"
    assert not may_work(Request({"type": "http"})), "over HTTP, with nobody named"


def test_one_holder_leaves_room_for_the_others() -> None:
    async def all_of_it() -> None:
        behind = Behind()
        gate = Gate(behind, holder)
        async with anyio.create_task_group() as many:
            for _ in range(MOST_AT_ONCE):
                many.start_soon(asked, gate, bearer(TOKEN))
            many.start_soon(asked, gate, bearer(READS))
            await anyio.wait_all_tasks_blocked()
            start, _ = await asked(gate, bearer(TOKEN))
            assert start["status"] == 429 and (b"retry-after", b"1") in start["headers"]
            assert len(behind.seen) == MOST_AT_ONCE + 1
            behind.answers.set()
        assert await asked(gate, bearer(TOKEN)) == [], "there is room again"

    anyio.run(all_of_it)
