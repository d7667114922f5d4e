"""The kernel's best, a search's best, and what a step gained: no reply contradicts another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels import FASTER
from mcp import Client
from server_talk import Place, ask, call, refused, result_of
from tiers import further

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.work import Ledger, search_best
from kernelwright.search.graph.graph import Graph


def own(place: Place, folder: Path) -> Place:
    """The same project with a state of its own."""
    return replace(place, outdir=shutil.copytree(place.outdir, folder / "state", symlinks=True))


async def by_hand(client: Client, kernel_id: str, **candidate: Any) -> dict[str, Any]:
    """A candidate that no search knows of, timed."""
    built = await result_of(client, "compile_variant", kernel_id=kernel_id, **candidate)
    timed = await result_of(client, "time_variant", variant_id=built["variant_id"])
    while timed["ending"] == "unstable":  # is no verdict, and is measured again
        timed = await result_of(client, "time_variant", variant_id=built["variant_id"])
    return timed


async def told_of_the_incumbent(client: Client, kernel_id: str, search_id: str) -> list[Any]:
    """What every reply that tells it says of the kernel's incumbent."""
    opened = await result_of(client, "open_kernel", kernel_id=kernel_id)
    search = (await call(client, "inspect", what="search", id=search_id))["facts"]
    (listed,) = (await call(client, "inspect", what="kernels"))["entries"]
    stepped = await result_of(client, "search_step", search_id=search_id)
    replies = (opened, search, listed, stepped)
    return [(reply["incumbent"], reply["incumbent_speedup"]) for reply in replies]


def test_after_work_by_hand_a_search_starts_from_the_incumbent_and_all_replies_agree(
    place: Place, tmp_path: Path
) -> None:
    async def body(client: Client) -> None:
        timed = await by_hand(client, place.kernel_id, options=FASTER)
        known = timed["incumbent"], timed["incumbent_speedup"]
        started = await result_of(
            client, "search_step", kernel_id=place.kernel_id, planner="client"
        )
        assert started["needs_candidates"]["variant_id"] == timed["incumbent"]
        standing = started["status"]
        assert standing["start"] == standing["best"] == timed["incumbent"]
        assert standing["start_speedup"] == standing["best_speedup"] == known[1]
        told = await told_of_the_incumbent(client, place.kernel_id, started["search_id"])
        assert set(told) == {known}

    ask(own(place, tmp_path), body)


@further(
    "tests/server/test_bests.py::"
    "test_after_work_by_hand_a_search_starts_from_the_incumbent_and_all_replies_agree",
    why="the same from the baseline",
)
def test_a_search_from_the_baseline_remembers_work_by_hand_and_leaves_the_incumbent_alone(
    place: Place, tmp_path: Path
) -> None:
    async def body(client: Client) -> None:
        timed = await by_hand(client, place.kernel_id, options=FASTER, method="vectorise it")
        opened = await result_of(client, "open_kernel", kernel_id=place.kernel_id)
        started = await result_of(
            client,
            "search_step",
            kernel_id=place.kernel_id,
            planner="client",
            **{"from": "baseline"},
        )
        needed = started["needs_candidates"]
        assert needed["variant_id"] == started["status"]["best"] == opened["baseline"]
        assert any("vectorise it" in idea for idea in needed["remembered"])
        assert started["incumbent"] == timed["incumbent"]
        again = {"method": "by hand", "options": FASTER}
        ended = await result_of(
            client,
            "search_step",
            search_id=started["search_id"],
            ticket=needed["ticket"],
            candidates=[again],
            steps=1,
        )
        (step,) = ended["steps"]
        assert step["variant_id"] == timed["variant_id"] and step["speedup"] == timed["speedup"]
        assert step["speedup_over_parent"] == step["speedup"], "its parent is the baseline"
        assert step["became_incumbent"] == (timed["incumbent"] == timed["variant_id"])
        better = timed["ending"] == "faster"
        assert ended["status"]["best"] == timed["variant_id" if better else "incumbent"]
        assert ended["incumbent_speedup"] == timed["incumbent_speedup"]

    ask(own(place, tmp_path), body)


def test_a_search_from_what_was_not_measured_is_refused_with_the_call_that_measures_it(
    place: Place, tmp_path: Path
) -> None:
    async def body(client: Client) -> None:
        built = await result_of(
            client, "compile_variant", kernel_id=place.kernel_id, options={"flags": ["-O0"]}
        )
        text = await refused(
            client,
            "search_step",
            kernel_id=place.kernel_id,
            wait_s=45,
            **{"from": built["variant_id"]},
        )
        assert "was not evaluated yet" in text
        assert f'time_variant {{"variant_id": "{built["variant_id"]}"}}' in text

    ask(own(place, tmp_path), body)


def test_the_best_of_a_search_is_its_own_though_the_incumbent_is_from_elsewhere_and_better() -> (
    None
):
    graph = Graph()
    graph.add_root("baseline")
    for name, speedup, interval in (("a", 75.7, (40.0, 90.0)), ("b", 60.0, (58.0, 62.0))):
        graph.add_node(name, Ending.faster, speedup, interval)
        edge = graph.add_edge("baseline", Candidate(method=name, source=name), 1.0)
        graph.link_child(edge, name)
    nothing_kept = Ledger(steps=2, builds=2, since_incumbent=2, incumbent="baseline")
    assert search_best(graph, nothing_kept).key == "b", "surer, though its estimate is lower"
    graph.edge("e000000").became_incumbent = True
    kept = Ledger(steps=2, builds=2, since_incumbent=1, incumbent="a")
    assert search_best(graph, kept).key == "a", "direct comparison says more than two intervals"
