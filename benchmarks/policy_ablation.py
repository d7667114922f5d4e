"""Which policy of the search finds most at equal budget, in graphs that were evaluated before.

    python benchmarks/policy_ablation.py GRAPHS.json.gz ... [--seeds N] [--jitter SIGMA]
    python benchmarks/policy_ablation.py --made-up 4 --result /tmp/ablation.json

A graph holds every candidate that rules proposed down to some depth (`collect_graph.py`).
Each policy searches it with the same budget of builds; its score is log(best speedup found) over
log(best in the graph): 0 is the baseline, 1 the best there is. Seeds decide between equal arms and
jitter the priors, the same for all policies. `--also c_puct=0.1,widening_c=1` adds the default with
other settings. Intervals: 95 % by bootstrap, of the kernels and of
each kernel's seeds; of a difference, by the same draws for both.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import recorded_graphs
from environment import RESULTS, write
from pydantic import ValidationError
from replay.graph_world import graph_world
from replay.recorded import RecordedGraph
from replay.world import replay

from kernelwright.search.settings import Settings

BUDGETS = (3, 5, 10, 20, 40, 60)
NEAR = 0.98
"""of the best speedup: what counts as having found it"""
DEFAULT = "puct + max"
BEST_OF_N = "best of N"
POLICIES: dict[str, Mapping[str, Any]] = {
    DEFAULT: {"policy": "puct", "backup": "max"},
    "puct + max, narrower": {"policy": "puct", "backup": "max", "widening_c": 2.0},
    "puct + mean": {"policy": "puct", "backup": "mean", "failure_reward": -2.0},
    "pucb + mean": {"policy": "pucb", "backup": "mean", "failure_reward": -2.0},
    "greedy": {"policy": "greedy"},
    "beam": {"policy": "beam"},
    "random walk": {"policy": "random"},
    BEST_OF_N: {"policy": "random"},
}
"""settings by name; best of N draws from the candidates of the baseline alone"""
DRAWS = 2000
Scores = dict[str, list[list[float]]]
"""by kernel, then seed: the score at each budget, and last the builds that it took to find the
best, one more than the budget where it did not"""


def main() -> None:
    """Run every policy in every graph, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", type=Path)
    parser.add_argument("--made-up", type=int, default=0, metavar="KERNELS")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jitter", type=float, default=0.5)
    parser.add_argument("--also", nargs="+", default=[], metavar="NAME=VALUE[,NAME=VALUE]")
    parser.add_argument("--result", type=Path, default=RESULTS / "policy_ablation.json")
    asked = parser.parse_args()
    graphs = recorded_graphs.made_up(asked.made_up) or recorded_graphs.read(asked.graphs)
    if not graphs:
        parser.error("no graph with anything to gain; give files of collect_graph.py")
    also = {text: dict(part.split("=") for part in text.split(",")) for text in asked.also}
    result = ablation(graphs, asked.seeds, asked.jitter, POLICIES | also)
    print(table(result))
    print(f"written to {write('policy_ablation', result, asked.result)}")


def ablation(
    graphs: Sequence[RecordedGraph],
    seeds: int,
    jitter: float,
    policies: Mapping[str, Mapping[str, Any]] = POLICIES,
) -> dict[str, Any]:
    """Scores of those policies (settings by name) that this version of the engine has."""
    scores = dict[str, Scores]()
    for name, changes in policies.items():
        try:
            settings = Settings(budget_builds=BUDGETS[-1], patience=10**6, **changes)
        except ValidationError:
            print(f"left out, as the engine does not have it: {name}")
            continue
        scores[name] = {
            graph.kernel: [scored(name, graph, settings, seed, jitter) for seed in range(seeds)]
            for graph in graphs
        }
    return {
        "seeds": seeds,
        "jitter": jitter,
        "budgets": BUDGETS,
        "kernels": [_kernel(graph) for graph in graphs],
        "policies": [_row(name, scores) for name in scores],
    }


def scored(
    name: str, graph: RecordedGraph, settings: Settings, seed: int, jitter: float
) -> list[float]:
    """One search: its score at each budget, and the builds it took to come near the best."""
    searched = _one_step(graph) if name == BEST_OF_N else graph
    world = graph_world(searched, recorded_graphs.jittered(seed, jitter))
    found = replay(world, settings.model_copy(update={"seed": seed}))
    wanted = NEAR * (graph.best.speedup or 1.0)
    builds = next((n for n in range(1, BUDGETS[-1] + 1) if found.best_after(n) >= wanted), None)
    return [
        *(_score(found.best_after(budget), graph) for budget in BUDGETS),
        BUDGETS[-1] + 1 if builds is None else builds,
    ]


def _score(speedup: float, graph: RecordedGraph) -> float:
    return math.log(speedup) / math.log(graph.best.speedup or 1.0)


def _one_step(graph: RecordedGraph) -> RecordedGraph:
    from_root = tuple(edge for edge in graph.edges if edge.parent == graph.root)
    return graph.model_copy(update={"edges": from_root})


def _kernel(graph: RecordedGraph) -> dict[str, Any]:
    return {
        "kernel": graph.kernel,
        "language": graph.language,
        "arch": graph.arch,
        "nodes": len(graph.nodes),
        "evaluated_edges": sum(edge.ending is not None for edge in graph.edges),
        "best_speedup": graph.best.speedup,
    }


def _row(name: str, scores: Mapping[str, Scores]) -> dict[str, Any]:
    own, default = scores[name], scores[DEFAULT]
    budgets = range(len(BUDGETS))
    return {
        "policy": name,
        "score": [_with_interval(_at(own, b)) for b in budgets],
        "better_than_default": [_with_interval(_less(own, default, b)) for b in budgets],
        "builds_to_the_best": _with_interval(_at(own, len(BUDGETS))),
        "builds_more_than_default": _with_interval(_less(own, default, len(BUDGETS))),
        "kernels": {
            kernel: [round(statistics.fmean(at), 4) for at in zip(*runs, strict=True)]
            for kernel, runs in own.items()
        },
    }


def _at(scores: Scores, budget: int) -> list[list[float]]:
    return [[run[budget] for run in runs] for runs in scores.values()]


def _less(one: Scores, other: Scores, budget: int) -> list[list[float]]:
    """Differences by kernel and seed, whose jitter is the same."""
    pairs = zip(_at(one, budget), _at(other, budget), strict=True)
    return [[a - b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in pairs]


def _with_interval(values: Sequence[Sequence[float]]) -> dict[str, float]:
    """Mean of the kernels' means, with its 95 % bootstrap interval."""
    rng = random.Random(0)
    drawn = list[float]()
    for _ in range(DRAWS):
        kernels = rng.choices(values, k=len(values))
        means = (statistics.fmean(rng.choices(runs, k=len(runs))) for runs in kernels)
        drawn.append(statistics.fmean(means))
    low, high = (statistics.quantiles(drawn, n=40)[at] for at in (0, -1))
    mean = statistics.fmean(statistics.fmean(runs) for runs in values)
    return {"mean": round(mean, 4), "low": round(low, 4), "high": round(high, 4)}


def table(result: Mapping[str, Any]) -> str:
    """Score by policy and budget in Markdown, with its interval."""
    budgets = result["budgets"]
    near = f"builds to {NEAR:.0%} of the best speedup"
    lines = [
        f"| policy | {' | '.join(f'{budget} builds' for budget in budgets)} | {near} |",
        f"|---|{'---|' * (len(budgets) + 1)}",
    ]
    for row in result["policies"]:
        cells = [f"{s['mean']:.3f} ({s['low']:.3f} to {s['high']:.3f})" for s in row["score"]]
        took = row["builds_to_the_best"]
        cells.append(f"{took['mean']:.1f} ({took['low']:.1f} to {took['high']:.1f})")
        lines.append(f"| {row['policy']} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
