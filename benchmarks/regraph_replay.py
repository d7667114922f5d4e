"""Whether a ReGraph pays: kernels are searched with what was learned on other kernels, and without.

    python benchmarks/regraph_replay.py GRAPHS.json.gz ... [--seeds N]
    python benchmarks/regraph_replay.py --made-up 8 --result /tmp/regraph.json

For each seed the kernels are dealt to two halves at random, those of a language in turn, so that
each half has all languages. From every transition in the graphs of one half a ReGraph is built; the
other half is searched in replay, with priors times its weights and with the recorded priors alone;
then the other way round. Counted are the builds until the incumbent has 95 % of the final speedup:
that which searches without a ReGraph have after the whole budget, in the median of the seeds; a
kernel that gains less than 5.3 % has it before and is left out. A search that does not get there
counts with its budget. Seeds jitter the priors, the same with and without. Where the first build is
enough without a ReGraph nothing is left to save: the second median is that of the others, and of
what is left to save, the builds beyond one a kernel, it is told apart which share is still needed.

Beside the halves each kernel is searched with what all others have learned: what twice the kernels
would bring, of the same kinds. It is no claim on new kernels, as no kernel is held out but one.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import recorded_graphs
from environment import RESULTS, write
from replay.graph_world import Prior, graph_world, methods_to
from replay.recorded import RecordedEdge, RecordedGraph
from replay.world import Replayed, replay

from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.tallies import aggregate
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.regraph.ways import way_of
from kernelwright.search.regraph.weighing import regraph_weights, way_weights
from kernelwright.search.settings import Settings

SHARE = 0.95
TARGET = 0.7
"""of the builds without a ReGraph"""


def main() -> None:
    """Replay both halves both ways, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", type=Path)
    parser.add_argument("--made-up", type=int, default=0, metavar="KERNELS")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jitter", type=float, default=0.5)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--result", type=Path, default=RESULTS / "regraph_replay.json")
    asked = parser.parse_args()
    graphs = recorded_graphs.made_up(asked.made_up) or recorded_graphs.read(asked.graphs)
    if len(graphs) < 2:
        parser.error("two graphs at least with anything to gain; give files of collect_graph.py")
    result = both_ways(graphs, asked.seeds, asked.jitter, asked.budget)
    print(table(result))
    print(f"written to {write('regraph_replay', result, asked.result)}")


@dataclass
class Runs:
    """The searches of one kernel, a pair a seed."""

    without: list[Replayed] = field(default_factory=list[Replayed])
    with_it: list[Replayed] = field(default_factory=list[Replayed])
    with_all_others: list[Replayed] = field(default_factory=list[Replayed])


def both_ways(
    graphs: Sequence[RecordedGraph], seeds: int, jitter: float, budget: int
) -> dict[str, Any]:
    """Every kernel, searched with what the half that it is not of has learned, seed after seed."""
    learned_on = {graph.kernel: transitions(graph) for graph in graphs}
    runs = {graph.kernel: Runs() for graph in graphs}
    of_others = {graph.kernel: _known(graphs, learned_on, graph) for graph in graphs}
    for seed in range(seeds):
        settings = Settings(budget_builds=budget, patience=10**6, seed=seed)
        prior, halves = recorded_graphs.jittered(seed, jitter), dealt(graphs, seed)
        for searched, learned in (halves, halves[::-1]):
            known = _known(learned, learned_on)
            for graph in searched:
                made, other = runs[graph.kernel], weighed(graph, known, prior)
                made.without.append(replay(graph_world(graph, prior), settings))
                made.with_it.append(replay(graph_world(graph, other), settings))
                other = weighed(graph, of_others[graph.kernel], prior)
                made.with_all_others.append(replay(graph_world(graph, other), settings))
    rows = [compared(graph, runs[graph.kernel], budget) for graph in graphs]
    rows = [row for row in rows if SHARE * row["final_speedup"] > 1]
    told = [{name: row[name] for name in row if name != "builds_by_seed"} for row in rows]
    return {"seeds": seeds, "jitter": jitter, "budget": budget, "kernels": told, **summary(rows)}


def _known(
    graphs: Sequence[RecordedGraph],
    learned_on: Mapping[str, Sequence[Transition]],
    but: RecordedGraph | None = None,
) -> Posteriors:
    return Posteriors(aggregate(t for g in graphs if g is not but for t in learned_on[g.kernel]))


def dealt(
    graphs: Sequence[RecordedGraph], seed: int
) -> tuple[list[RecordedGraph], list[RecordedGraph]]:
    """Two halves: shuffled, and dealt in turn language by language."""
    order, rng = list(graphs), random.Random(seed)
    rng.shuffle(order)
    order.sort(key=lambda graph: graph.language)
    return order[::2], order[1::2]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Over all kernels, and the mean builds of each language's."""
    ratios = [row["ratio"] for row in rows]
    with_room = [row["ratio"] for row in rows if row["builds_without"] > 1]
    return {
        "median_ratio": round(statistics.median(ratios), 3),
        "median_ratio_of_more_than_one_build": round(statistics.median(with_room or [1.0]), 3),
        "builds": _sums(rows, "builds"),
        "mean_builds": {
            language: _sums(found, "mean_builds") for language, found in _by_language(rows).items()
        },
        "mean_builds_with_all_others": {
            language: round(sum(r["mean_builds_with_all_others"] for r in found), 2)
            for language, found in _by_language(rows).items()
        },
        "of_what_is_left_to_save": {
            language: _left_to_save(found) for language, found in _by_language(rows).items()
        },
        "ratios_of_seeds": {
            language: _ratios_of_seeds(found) for language, found in _by_language(rows).items()
        },
        "geometric_mean_ratio": round(statistics.geometric_mean(ratios), 3),
        "target": TARGET,
    }


def _by_language(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    languages = sorted({row["language"] for row in rows})
    return {each: [row for row in rows if row["language"] == each] for each in languages}


def _left_to_save(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Builds beyond one a kernel without a ReGraph, and the share of them needed with one, learned
    on a half or on all other kernels; `kernels` of so many rows have any."""
    beyond = {
        side: sum(row[f"mean_builds_{side}"] - 1 for row in rows)
        for side in ("without", "with", "with_all_others")
    }
    shares = {
        side: round(beyond[side] / beyond["without"], 3) if beyond["without"] else 1.0
        for side in ("with", "with_all_others")
    }
    some = [row for row in rows if row["mean_builds_without"] > 1]
    before, after = _sums(some, "mean_builds")
    return {
        "kernels": len(some),
        "of": len(rows),
        "ratio_of_these": round(after / before, 3) if some else 1.0,
        "builds": round(beyond["without"], 2),
        **shares,
    }


def _ratios_of_seeds(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Builds with a ReGraph over those without, all kernels together: the 5th, 50th and 95th of a
    hundred seeds."""
    sides = [zip(*(row["builds_by_seed"][side] for row in rows), strict=True) for side in (0, 1)]
    ratios = sorted(sum(b) / sum(a) for a, b in zip(*sides, strict=True))
    return [round(ratios[round(q * (len(ratios) - 1))], 2) for q in (0.05, 0.5, 0.95)]


def _sums(rows: Sequence[Mapping[str, Any]], what: str) -> list[float]:
    """Without a ReGraph and with one."""
    return [round(sum(row[f"{what}_{side}"] for row in rows), 2) for side in ("without", "with")]


def transitions(graph: RecordedGraph) -> list[Transition]:
    """What a search over the whole graph would have learned."""
    nodes, before = {node.key: node for node in graph.nodes}, methods_to(graph)
    found = list[Transition]()
    for edge in graph.edges:
        if edge.ending is None:
            continue
        parent = nodes[edge.parent]
        child = None if edge.child is None else nodes[edge.child]
        speedup = None if child is None else child.speedup
        found.append(
            Transition(
                kernel_id=graph.kernel,
                search_id=graph.kernel,
                arch=graph.arch,
                language=graph.language,
                from_method=before.get(edge.parent, ""),
                to_method=edge.method,
                way=way_of(edge.detail),
                ending=edge.ending,
                speedup=speedup,
                gain=math.log2(speedup / parent.speedup) if speedup and parent.speedup else None,
                bottleneck=parent.bottleneck,
                parent=edge.parent,
                variant_id=edge.child,
            )
        )
    return found


def weighed(graph: RecordedGraph, known: Posteriors, recorded: Prior) -> Prior:
    """Recorded priors times what a ReGraph says of the method after the one before it, and of the
    way in which it is taken."""
    bottlenecks = {node.key: node.bottleneck for node in graph.nodes}
    weights = dict[tuple[str, str], Mapping[str, float]]()
    ways = way_weights(known, graph.language)

    def prior(edge: RecordedEdge, previous_method: str) -> float:
        place = previous_method, bottlenecks[edge.parent]
        if place not in weights:
            weights[place] = regraph_weights(known, *place, graph.arch, graph.language)
        factor = weights[place].get(edge.method, 1.0)
        way = ways(edge.method, way_of(edge.detail))
        return recorded(edge, previous_method) * factor * way

    return prior


def compared(graph: RecordedGraph, runs: Runs, budget: int) -> dict[str, Any]:
    """One kernel with a ReGraph and without."""
    final, final_with = (
        statistics.median(found.best_after(budget) for found in side)
        for side in (runs.without, runs.with_it)
    )
    every = (runs.without, runs.with_it, runs.with_all_others)
    builds = [_builds(side, SHARE * final, budget) for side in every]
    medians = [statistics.median(each) for each in builds]
    means = [round(statistics.fmean(each), 2) for each in builds]
    return {
        "kernel": graph.kernel,
        "language": graph.language,
        "best_speedup": graph.best.speedup,
        "final_speedup": round(final, 4),
        "final_speedup_with": round(final_with, 4),
        "builds_without": medians[0],
        "builds_with": medians[1],
        "builds_by_seed": builds,
        "mean_builds_without": means[0],
        "mean_builds_with": means[1],
        "mean_builds_with_all_others": means[2],
        "never_there": [sum(each == budget for each in side) for side in builds[:2]],
        "ratio": round(medians[1] / medians[0], 3),
    }


def _builds(runs: Sequence[Replayed], speedup: float, budget: int) -> list[int]:
    return [max(found.builds_to(speedup) or budget, 1) for found in runs]


def table(result: Mapping[str, Any]) -> str:
    """Builds with and without by kernel in Markdown."""
    lines = [
        "| kernel | final speedup | builds to 95 % of it | with a ReGraph | ratio |",
        "|---|---|---|---|---|",
    ]
    for row in result["kernels"]:
        lines.append(
            f"| {row['kernel']} | {row['final_speedup']:.3g}x | {row['builds_without']:g} | "
            f"{row['builds_with']:g} | {row['ratio']:.2f} |"
        )
    lines.append(f"| median | | | | {result['median_ratio']:.2f} |")
    several = result["median_ratio_of_more_than_one_build"]
    lines.append(f"| median of those that need more than one build | | | | {several:.2f} |")
    without, with_it = result["builds"]
    lines.append(f"| all | | {without:g} | {with_it:g} | {with_it / without:.2f} |")
    for language, (without, with_it) in result["mean_builds"].items():
        ratio = with_it / without
        lines.append(f"| {language}, means | | {without:g} | {with_it:g} | {ratio:.2f} |")
    for language, left in result["of_what_is_left_to_save"].items():
        lines.append(
            f"| {language}, beyond one a kernel ({left['kernels']} of {left['of']} kernels) "
            f"| | {left['builds']:g} | | {left['with']:.2f}; learned on all other kernels "
            f"{left['with_all_others']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
