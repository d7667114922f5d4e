"""The MCP application in memory, in both protocol eras."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from kernels import FASTER, SPEC, WRONG, tiny_kernel
from mcp import Client
from server_talk import Era, Place, ask, call, refused, result_of, talk

from kernelwright.search.settings import Settings
from kernelwright.server.app import INSTRUCTIONS
from kernelwright.store.store import STATE_FILE
from kernelwright.tools import TOOLS

MOST_BYTES = 24_000
"""of the whole list: every client pays for it in every session"""


def too_long(sizes: dict[str, int]) -> str:
    """What to do about a list of tools that has grown."""
    longest = sorted(sizes.items(), key=lambda each: -each[1])
    told = ", ".join(f"{name} {size}" for name, size in longest)
    return (
        f"tools/list has {sum(sizes.values())} bytes, {MOST_BYTES} are allowed: shorten docstrings "
        f"and texts of fields, or move rare fields to `told_elsewhere` (tools/base.py). {told}"
    )


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_tools_are_listed_in_the_order_of_TOOLS_with_schemas_and_true_hints(
    era: Era, tmp_path: Path
) -> None:
    async def body(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
        for tool in tools:
            assert tool.title and tool.annotations and not tool.output_schema
            assert tool.input_schema["additionalProperties"] is False
            assert tool.input_schema["type"] == "object"
            assert 100 < len((tool.description or "").encode()) < 1024
            assert tool.annotations.open_world_hint is False
        read_only = {t.name for t in tools if t.annotations and t.annotations.read_only_hint}
        assert read_only == {tool.name for tool in TOOLS if tool.read_only}
        assert {"propose_moves", "inspect"} <= read_only
        destructive = {t.name for t in tools if t.annotations and t.annotations.destructive_hint}
        assert destructive == {"export_variant", "record_program", "verify_program"}
        sent = [t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools]
        sizes = {t["name"]: len(json.dumps(t, separators=(",", ":"))) for t in sent}
        assert sum(sizes.values()) < MOST_BYTES, too_long(sizes)
        assert all(tool["_meta"]["anthropic/searchHint"] for tool in sent)
        loaded = [t["name"] for t in sent if t["_meta"].get("anthropic/alwaysLoad")]
        assert loaded == ["open_kernel", "search_step"]
        assert client.instructions == INSTRUCTIONS

    talk(tmp_path, tmp_path, body, era)
    assert len(INSTRUCTIONS.encode()) < 1536
    assert not (tmp_path / STATE_FILE).exists()


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_arguments_are_strict_and_every_complaint_names_the_field(era: Era, tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        text = await refused(client, "open_kernel", spec_pth="spec.json")
        assert "spec_pth: unknown field; did you mean `spec_path`?" in text
        assert "known here: entry, goal, kernel_id, source_path, spec, spec_path, wait_s" in text
        assert "wait_s" in await refused(client, "open_kernel", spec_path="x", wait_s="3")
        assert "wait_s" in await refused(client, "open_kernel", spec_path="x", wait_s=46)
        assert "goes into spec_path" in await refused(client, "open_kernel", spec="spec.json")
        assert "limit" in await refused(client, "propose_moves", kernel_id="k", limit=True)
        assert "exactly one of spec_path" in await refused(client, "open_kernel")
        asked = await refused(client, "record_program", command=["true"], front="cuda")
        assert "front: known here: (empty), torch" in asked
        assert "method: should have at most 200" in await refused(
            client, "compile_variant", kernel_id="k", method="m" * 201
        )
        nested = await refused(client, "search_step", kernel_id="k", settings={"budget": 3})
        assert "settings.budget: unknown field; did you mean `budget_builds`?" in nested
        known = await refused(client, "ncu_sumary")
        assert all(tool.name in known for tool in TOOLS)

    talk(tmp_path, tmp_path, body, era)
    assert not (tmp_path / STATE_FILE).exists()


def test_a_handle_that_is_not_known_is_answered_with_what_to_call(place: Place) -> None:
    async def body(client: Client) -> None:
        text = await refused(client, "propose_moves", kernel_id="bump")
        assert place.kernel_id in text and "Next: call `open_kernel`" in text
        assert "what: jobs" in await refused(client, "job", job_id="j999")
        text = await refused(client, "inspect", what="variant", id="v1", part="sauce")
        assert "summary, source, diff" in text

    ask(place, body)


def test_a_path_outside_the_roots_is_refused(place: Place, tmp_path: Path) -> None:
    tiny_kernel(tmp_path)

    async def body(client: Client) -> None:
        text = await refused(client, "open_kernel", spec_path=str(tmp_path / "spec.json"))
        assert "outside the allowed roots" in text and str(place.kernel.folder) in text

    ask(place, body)


def test_a_spec_may_come_as_an_object_and_as_json_in_a_string(place: Place) -> None:
    async def body(client: Client) -> None:
        for spec in (SPEC, json.dumps(SPEC)):
            opened = await result_of(client, "open_kernel", spec=spec)
            assert opened["kernel_id"] == place.kernel_id

    ask(place, body)


def test_an_open_kernel_tells_what_a_planner_needs_and_nothing_held_out(place: Place) -> None:
    async def body(client: Client) -> None:
        opened = await result_of(client, "open_kernel", kernel_id=place.kernel_id)
        assert opened["entry"].startswith("void bump(const float* x, float* y, float a,")
        assert opened["parameters"] == {"UNROLL": {"now": 1, "values": [1, 4]}}
        assert [w["workload"] for w in opened["workloads"]] == ["main"]
        assert opened["held_out"] == 1 and opened["tier"] == "native"
        kinds = {"memory_bound", "compute_bound", "latency_bound"}
        bound = opened["headroom"].removeprefix("main: ").partition(":")[0].partition(",")[0]
        moves = json.dumps(await call(client, "propose_moves", kernel_id=place.kernel_id))
        assert {kind for kind in kinds if kind in moves} == {bound}
        assert set(re.findall(r'"skill": "([^"]+)"', moves)) == {"host-loops"}
        assert "5001" not in json.dumps(opened)
        spec = await call(client, "inspect", what="kernel", id=place.kernel_id, part="spec")
        assert "8192" in json.dumps(spec) and "5001" not in json.dumps(spec)

    ask(place, body)


def test_a_proposed_candidate_is_built_timed_and_then_no_longer_proposed(place: Place) -> None:
    async def body(client: Client) -> None:
        arguments = {"kernel_id": place.kernel_id, "variant_id": "baseline"}
        before = await call(client, "propose_moves", **arguments)
        by_method = {move["method"]: move for move in before["moves"]}
        move = by_method["compiler_flags"]
        assert move["why"] and move["prior"] > 0
        methods = {*by_method, *(each["method"] for each in before["by_hand"])}
        assert "pad_tail_and_mask" in methods | {*before["also_by_hand"]}
        assert "switch_to_mma_or_wgmma" not in json.dumps(before), "of other languages"
        options = move["candidates"][0]["options"]
        built = await result_of(
            client, "compile_variant", kernel_id=place.kernel_id, base="baseline", options=options
        )
        assert built["ok"]
        timed = await result_of(client, "time_variant", variant_id=built["variant_id"])
        while timed["ending"] == "unstable":  # is no verdict, and is measured again
            timed = await result_of(client, "time_variant", variant_id=built["variant_id"])
        assert timed["ending"] in ("faster", "slower", "tie")
        again = await result_of(client, "time_variant", variant_id=built["variant_id"])
        assert again["known"] and again["speedup"] == timed["speedup"]
        after = await call(client, "propose_moves", **arguments)
        (same,) = [m for m in after["moves"] if m["method"] == "compiler_flags"]
        assert options not in [c["options"] for c in same["candidates"]]
        assert same["tried"] == move["tried"] + 1

    ask(place, body)


def test_a_variant_that_the_compiler_makes_the_same_code_of_is_said_to_be_one(
    place: Place,
) -> None:
    async def body(client: Client) -> None:
        built = await result_of(
            client,
            "compile_variant",
            kernel_id=place.kernel_id,
            base="baseline",
            parameters={"UNROLL": 4},
        )
        opened = await result_of(client, "open_kernel", kernel_id=place.kernel_id)
        assert built["same_code_as"] == opened["baseline"]
        assert built["changed"] == "UNROLL=4"

    ask(place, body)


def test_a_variant_is_compared_with_another_named_one(place: Place) -> None:
    async def body(client: Client) -> None:
        compile_ = partial(
            result_of, client, "compile_variant", kernel_id=place.kernel_id, base="baseline"
        )
        fast = (await compile_(options=FASTER))["variant_id"]
        slow = (await compile_(options={"flags": ["-O0"]}))["variant_id"]
        wrong = (await compile_(source=WRONG))["variant_id"]
        text = await refused(client, "time_variant", variant_id=fast, against=wrong)
        assert "was not evaluated" in text and wrong in text
        await result_of(client, "time_variant", variant_id=slow)
        timed = await result_of(client, "time_variant", variant_id=fast, against=slow)
        against = timed["against"]
        assert against["variant_id"] == slow
        low, high = against["interval"]
        assert low <= against["speedup"] <= high
        assert against["judgement"] in ("faster", "unstable")  # which: others on the machine decide

    ask(place, body)


def test_a_variant_may_be_named_by_its_place(place: Place) -> None:
    async def body(client: Client) -> None:
        opened = await result_of(client, "open_kernel", kernel_id=place.kernel_id)
        for name in ("baseline", f"{place.kernel_id}/baseline"):
            timed = await result_of(client, "time_variant", variant_id=name)
            assert timed["variant_id"] == opened["baseline"]
        told = await call(client, "inspect", what="variant", id="incumbent")
        assert told["facts"]["kernel_id"] == place.kernel_id
        text = await refused(client, "inspect", what="variant", id="bump-0/incumbent")
        assert place.kernel_id in text

    ask(place, body)


def test_settings_that_the_list_of_tools_leaves_out_are_told_and_taken(place: Place) -> None:
    async def body(client: Client) -> None:
        told = await call(client, "inspect", what="settings", limit=100)
        names = {each["setting"] for each in told["entries"]}
        assert names == set(Settings.model_fields) and all(e["about"] for e in told["entries"])
        started = await result_of(
            client,
            "search_step",
            kernel_id=place.kernel_id,
            planner="client",
            settings={each["setting"]: each["default"] for each in told["entries"]},
        )
        assert started["needs_candidates"]

    ask(place, body)


def test_the_host_tells_what_a_planner_of_host_code_needs(place: Place) -> None:
    async def body(client: Client) -> None:
        host = (await call(client, "inspect", what="host"))["facts"]
        assert host["processor"].keys() >= {"model", "vectors", "caches"}

    ask(place, body)


def test_sources_come_in_pages(place: Place) -> None:
    async def body(client: Client) -> None:
        page = partial(call, client, "inspect", what="kernel", id=place.kernel_id, part="source")
        whole = await page()
        assert whole["text"] == place.kernel.source.read_text(encoding="utf-8")
        first = await page(limit=4)
        rest = await page(offset=first["next_offset"])
        assert first["text"] + rest["text"] == whole["text"]
        assert "next_offset" not in rest and rest["total"] == len(whole["text"].splitlines())

    ask(place, body)


def test_a_list_comes_in_pages_small_enough_for_a_reply(place: Place) -> None:
    async def body(client: Client) -> None:
        await result_of(client, "compile_variant", kernel_id=place.kernel_id, options=FASTER)
        page = partial(call, client, "inspect", what="kernel", id=place.kernel_id, part="variants")
        whole = await page()
        assert whole["total"] == len(whole["entries"]) > 1
        first = await page(limit=1)
        rest = await page(offset=first["next_offset"])
        assert first["entries"] + rest["entries"] == whole["entries"]
        memory = await call(client, "inspect", what="memory", id=place.kernel_id)
        endings = {entry["variant_id"]: entry["ending"] for entry in memory["entries"]}
        assert set(endings.values()) <= {"faster", "slower", "tie", "unstable", "timed_out"}

    ask(place, body)


def test_listing_the_tools_loads_nothing_heavy() -> None:
    script = """
import anyio, json, sys, tempfile
from pathlib import Path
from mcp import Client
from kernelwright.server.app import make_app
async def body():
    async with Client(make_app(Path(tempfile.gettempdir()) / "none", [Path.cwd()])) as client:
        assert (await client.list_tools()).tools
anyio.run(body)
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(json.loads(done.stdout))
    assert "kernelwright.tools.open_kernel" in loaded
    heavy = {"torch", "triton", "cupy", "anthropic", "numpy", "tree_sitter", "ml_dtypes"}
    assert not heavy & loaded
