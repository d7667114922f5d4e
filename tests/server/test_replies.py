"""What a client is sent: never more than it can take, and never its own words in full."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client
from server_talk import Place, ask, call, refused

from kernelwright.server.protocol.replies import MOST_CHARS, capped, in_json
from kernelwright.store.job_rows import put_job
from kernelwright.store.jobs import JobRecord, Owner
from kernelwright.store.store import STATE_FILE, Store

LONG = "x\n" * 20_000
NOBODY = Owner(pid=1, started=1)


def large_job(number: int) -> JobRecord:
    """A job that was sent, and brought, far more than fits into a reply."""
    candidate = {"method": "by hand", "source": LONG, "detail": LONG}
    step = {"step": 1, "message": LONG}
    return JobRecord(
        job_id=f"j{number}",
        tool="search_step",
        arguments={"search_id": "s0", "ticket": "t0", "candidates": [candidate] * 32},
        state="done",
        owner=NOBODY,
        submitted_at="2026-01-01T00:00:00+00:00",
        finished_at="2026-01-01T00:00:09+00:00",
        result={"steps": [step] * 12, "notes": [LONG]},
        error=LONG,
    )


def test_jobs_of_any_size_are_told_within_the_cap(place: Place) -> None:
    with Store.open(place.outdir / STATE_FILE) as store, store.transaction() as writer:
        for number in range(801, 841):
            put_job(writer, large_job(number))

    async def body(client: Client) -> None:
        one = await call(client, "inspect", what="job", id="j801")
        assert one["facts"]["tool"] == "search_step" and one["cut"]
        waited = await call(client, "job", job_id="j801")
        assert waited["status"] == "done" and waited["result"]["steps"]
        first = await call(client, "inspect", what="jobs", limit=1000)
        listed, following = first["entries"], first.get("next_offset")
        while following is not None:
            page = await call(client, "inspect", what="jobs", limit=1000, offset=following)
            listed, following = listed + page["entries"], page.get("next_offset")
        assert {f"j{number}" for number in range(801, 841)} <= {each["job_id"] for each in listed}

    ask(place, body)


def test_an_error_tells_what_was_sent_in_a_few_words(place: Place) -> None:
    async def body(client: Client) -> None:
        for tool, arguments in (
            (LONG, {}),
            ("inspect", {"what": "variant", "id": LONG}),
            ("inspect", {LONG: 1, "what": "host"}),
            ("open_kernel", {"spec_path": LONG, "wait_s": 45}),
            ("search_step", {"kernel_id": LONG, "wait_s": 45}),
        ):
            text = await refused(client, tool, **arguments)
            assert LONG[:1000] not in text and len(text) < 3000, tool[:20]

    ask(place, body)


def test_a_line_without_an_end_comes_in_pages_that_make_it_whole(place: Place) -> None:
    source = place.kernel.source.read_text("utf-8") + "#define NAMES " + '+"\\\\"' * 20_000 + "\n"

    async def body(client: Client) -> None:
        built = await call(
            client, "compile_variant", kernel_id=place.kernel_id, source=source, wait_s=45
        )
        told: dict[str, Any] = {"next_offset": 0}
        text = ""
        while "next_offset" in told:
            told = await call(
                client,
                "inspect",
                what="variant",
                id=built["result"]["variant_id"],
                part="source",
                offset=told["next_offset"],
            )
            text += told["text"]
        assert text == source

    ask(place, body)


def test_what_is_cut_is_said_and_what_fits_is_left_alone() -> None:
    small = {"a": "x" * 20_000, "b": list(range(100))}
    assert capped(small) is small
    for large in ({"a": LONG}, {"b": ["x" * 200] * 5000}, {str(n): "x" * 90 for n in range(5000)}):
        less = capped(large)
        assert "inspect shows all" in less["cut"] or len(large) > 4999
        assert len(in_json(less)) <= MOST_CHARS and json.loads(in_json(less)) == less
