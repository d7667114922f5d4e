"""When a search by rules should ask somebody else: what rules still bring after so many evaluations
without a new incumbent.

    python benchmarks/change_over.py benchmarks/data/searched_graphs.json.gz ... [--seeds N]

Every recorded graph is searched in replay by rules alone, with jittered priors. For each patience k
the search is looked at when k evaluations in a row had brought no new incumbent: the share of the
final gain (log2, at the whole budget) that it had by then, and the builds that it had spent. Of
the patiences whose mean share is `ENOUGH`, the least is the default of `Settings.change_over`: the
builds behind it bring rules next to nothing. A recorded graph holds no more than was tried when it
was recorded, so that a share is one of what that search found.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import recorded_graphs
from environment import RESULTS, write
from replay.graph_world import graph_world
from replay.recorded import RecordedGraph
from replay.world import Replayed, replay

from kernelwright.search.settings import Settings

PATIENCES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25)
ENOUGH = 0.99
JITTER = 0.5


def main() -> None:
    """Replay all graphs, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", type=Path)
    parser.add_argument("--made-up", type=int, default=0, metavar="KERNELS")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--result", type=Path, default=RESULTS / "change_over.json")
    asked = parser.parse_args()
    graphs = recorded_graphs.made_up(asked.made_up) or recorded_graphs.read(asked.graphs)
    if not graphs:
        parser.error("no graph with anything to gain; give files of collect_graph.py")
    result = measured(graphs, asked.seeds, asked.budget)
    for line in result["patiences"]:
        print("{patience:3d}: {share:6.1%} of the gain, {builds:5.1f} builds".format(**line))
    print(f"least with {ENOUGH:.0%}: {result['least']}")
    print(f"written to {write('change_over', result, asked.result)}")


def measured(graphs: Sequence[RecordedGraph], seeds: int, budget: int) -> dict[str, Any]:
    """Mean share of the final gain and mean builds, by patience; a kernel weighs as any other."""
    runs = {graph.kernel: searched(graph, seeds, budget) for graph in graphs}
    lines = list[dict[str, float]]()
    for patience in PATIENCES:
        shares = list[float]()
        builds = list[float]()
        for each in runs.values():
            found = [at(run, patience, budget) for run in each]
            shares.append(statistics.mean(share for share, _ in found))
            builds.append(statistics.mean(spent for _, spent in found))
        lines.append(
            {
                "patience": patience,
                "share": statistics.mean(shares),
                "builds": statistics.mean(builds),
            }
        )
    least = next((int(line["patience"]) for line in lines if line["share"] >= ENOUGH), None)
    return {
        "kernels": sorted(runs),
        "seeds": seeds,
        "budget_builds": budget,
        "enough": ENOUGH,
        "patiences": lines,
        "least": least,
    }


def searched(graph: RecordedGraph, seeds: int, budget: int) -> list[Replayed]:
    """A replay a seed, to the whole budget."""
    found = list[Replayed]()
    for seed in range(seeds):
        settings = Settings(budget_builds=budget, patience=10**6, seed=seed)
        found.append(replay(graph_world(graph, recorded_graphs.jittered(seed, JITTER)), settings))
    return found


def at(run: Replayed, patience: int, budget: int) -> tuple[float, int]:
    """Share of the final gain, and builds spent, when so many evaluations in a row brought nothing
    new; a search that ends before has all of it. One that never gains has all of it at once."""
    final = run.best_after(budget)
    best, idle = 1.0, 0
    for step in run.steps:
        idle = 0 if step.best > best else idle + 1
        best = max(best, step.best)
        if idle >= patience:
            return (math.log2(best) / math.log2(final) if final > 1 else 1.0), step.builds
    return 1.0, run.steps[-1].builds if run.steps else 0


if __name__ == "__main__":
    main()
