"""The benchmarks that replay searches in recorded graphs, on made-up ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from replay.recorded import graphs_to_bytes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Script = Callable[[str], Any]


def test_files_of_graphs_are_read_once_each(script: Script, tmp_path: Path) -> None:
    recorded_graphs = script("recorded_graphs")
    graphs = recorded_graphs.made_up(2)
    (tmp_path / "a.json.gz").write_bytes(graphs_to_bytes(graphs))
    assert recorded_graphs.read([tmp_path / "a.json.gz"]) == graphs
    with pytest.raises(ValueError, match="made_up_00"):
        recorded_graphs.read([tmp_path / "a.json.gz"] * 2)


def test_a_policy_is_scored_between_the_baseline_and_the_best(script: Script) -> None:
    ablation = script("policy_ablation")
    graphs = script("recorded_graphs").made_up(2)
    chosen = {"puct + max": {"policy": "puct"}, "best of N": {"policy": "random"}}
    found = ablation.ablation(graphs, 2, 0.5, chosen)
    assert found == ablation.ablation(graphs, 2, 0.5, chosen)
    for row in found["policies"]:
        means = [each["mean"] for each in row["score"]]
        assert means == sorted(means)
        assert all(0 <= each["low"] <= each["mean"] <= each["high"] <= 1 for each in row["score"])
    assert {each["mean"] for each in found["policies"][0]["better_than_default"]} == {0.0}
    assert "| best of N |" in ablation.table(found)


def test_a_policy_that_the_engine_lacks_is_left_out(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    ablation = script("policy_ablation")
    graphs = script("recorded_graphs").made_up(1)
    chosen = {"puct + max": {}, "no such": {"policy": "no such"}}
    assert len(ablation.ablation(graphs, 1, 0.0, chosen)["policies"]) == 1
    assert "no such" in capsys.readouterr().out


def test_each_kernel_is_searched_with_what_the_other_half_learned(script: Script) -> None:
    regraph_replay = script("regraph_replay")
    graphs = script("recorded_graphs").made_up(2)
    found = regraph_replay.both_ways(graphs, 2, 0.5, 20)
    assert [row["kernel"] for row in found["kernels"]] == ["made_up_00", "made_up_01"]
    assert all(1 <= row["builds_with"] <= 20 for row in found["kernels"])
    assert "| median |" in regraph_replay.table(found)
    (left,) = found["of_what_is_left_to_save"].values()
    before, after = found["mean_builds"]["cuda"]
    kernels = len(found["kernels"])
    assert left["with"] == pytest.approx((after - kernels) / (before - kernels), abs=1e-3)


def test_halves_are_dealt_anew_each_seed_and_hold_as_many_of_each_language(
    script: Script,
) -> None:
    made_up = script("recorded_graphs").made_up(8)
    graphs = [
        graph.model_copy(update={"language": "cuda" if number % 2 else "triton"})
        for number, graph in enumerate(made_up)
    ]
    deals = [script("regraph_replay").dealt(graphs, seed) for seed in range(5)]
    for halves in deals:
        assert sorted(g.kernel for half in halves for g in half) == [g.kernel for g in graphs]
        for half in halves:
            assert sorted(g.language for g in half) == ["cuda"] * 2 + ["triton"] * 2
    assert len({tuple(g.kernel for g in halves[0]) for halves in deals}) > 1


def test_a_transition_knows_what_it_gained_over_its_parent(script: Script) -> None:
    graph = script("recorded_graphs").made_up(1)[0]
    speedups = {node.key: node.speedup for node in graph.nodes}
    for each in script("regraph_replay").transitions(graph):
        if each.gain is not None:
            assert speedups[each.parent] * 2**each.gain == pytest.approx(each.speedup)
