"""Every move that applies, at every node down to some depth: closed graphs to replay searches over.

Usage: python benchmarks/collect_graph.py KERNEL... --output FILE [--depth N] [--nodes N]
       [--seconds S] [--set NAME=VALUE]

A kernel is named as for `no_model.py`. The engine does it: a beam that is wider than any depth, of
nodes that ask for all candidates at once, is a breadth-first search, and evaluates on all visible
GPUs. FILE (.json.gz) holds a recorded graph for each kernel, written after each; what is printed
says down to which depth a graph is closed. A candidate with knobs is one edge, tuned as in any
search.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from beginner_kernels import EXAMPLES, KERNELS, beginner_kernels
from recording import recorded_search, settings_of
from replay.recorded import RecordedGraph, graphs_to_bytes

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.loading.files import load_file
from kernelwright.search.graph.graph import Graph
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of
from kernelwright.search.stored.records import StepReport

DEPTH, NODES, SECONDS = 2, 400, 200.0
UNBOUNDED = 1 << 20
"""candidates of a node, nodes of a depth, evaluations without a gain: more than there are"""
EVERYTHING = {
    "policy": "beam",
    "beam_width": UNBOUNDED,
    "widening_c": UNBOUNDED,
    "patience": UNBOUNDED,
    "min_pred_gain": 0.0,
    "min_gain": 1e9,  # nothing becomes the incumbent: its gates would take most of the time
    "stop_at_headroom": False,
    "regraph": "off",
}


@dataclass(frozen=True)
class Collected:
    """A graph, and above which depth every node has had every move that applies."""

    graph: RecordedGraph
    closed_to: int


def main() -> None:
    """Collect the kernels that were asked for, one after the other."""
    asked = _arguments()
    limits = {"budget_builds": asked.nodes, "budget_seconds": asked.seconds}
    try:
        chosen = beginner_kernels(asked.kernels)
        settings = settings_of({**EVERYTHING, **limits}, asked.set)
    except ValueError as error:
        sys.exit(str(error))
    graphs, failed = list[RecordedGraph](), False
    with tempfile.TemporaryDirectory() as out:
        with Workbench(Path(out), [KERNELS, EXAMPLES], asked.gpus.split(",")) as bench:
            for kernel in chosen:
                began = time.monotonic()
                try:
                    found = collect(bench, kernel.path, settings, asked.depth)
                except KernelwrightError as error:
                    print(f"{kernel.name} failed: {error}", flush=True)
                    failed = True
                    continue
                graphs.append(found.graph)
                asked.output.write_bytes(graphs_to_bytes(graphs))
                print(f"{told(found)}, {time.monotonic() - began:.0f} s", flush=True)
    print(asked.output)
    sys.exit(failed)


def collect(bench: Workbench, path: Path, settings: Settings, depth: int) -> Collected:
    """The graph of a spec's kernel down to a depth, 1 = one move, as far as the budget goes.

    `settings` hold `EVERYTHING` and the budget. What was under way when the depth was reached stays
    in the graph. Raises KernelwrightError where the kernel cannot be opened or run.
    """
    kernel = bench.evaluator.open(load_file(path, bench.roots))
    session = SearchSession.start(bench, kernel.kernel_id, settings)
    try:
        depths = {kernel.baseline: 0}
        while isinstance(report := session.step(UNBOUNDED), StepReport):
            if depths[report.parent] >= depth:
                break
            if report.variant_id is not None:
                depths.setdefault(report.variant_id, depths[report.parent] + 1)
    finally:
        session.close()
    graph = graph_of(bench.store, session.search_id)
    return Collected(recorded_search(bench, session.search_id), closed_to(graph))


def closed_to(graph: Graph) -> int:
    """The depth above which nothing is left to try: every candidate that the planner has for a node
    that worked was evaluated."""
    for depth, layer in enumerate(graph.layers):
        nodes = (graph.nodes[key] for key in layer)
        if any(not (node.failed or _is_done(graph, node.key)) for node in nodes):
            return depth
    return len(graph.layers)


def told(found: Collected) -> str:
    """One line about a graph."""
    graph = found.graph
    endings = Counter(str(node.ending) for node in graph.nodes if node.key != graph.root)
    counts = ", ".join(f"{count} {ending}" for ending, count in endings.most_common())
    return (
        f"{graph.kernel}: {len(graph.nodes)} nodes, {len(graph.edges)} edges, closed to depth "
        f"{found.closed_to}, best {graph.best.speedup or 1:.3g}x; {counts}"
    )


def _is_done(graph: Graph, key: str) -> bool:
    return graph.nodes[key].exhausted and all(e.state == "done" for e in graph.edges_of(key))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kernels", nargs="+", help="specs, folders or languages")
    parser.add_argument("--output", type=Path, required=True, help="a file (.json.gz)")
    parser.add_argument("--depth", type=int, default=DEPTH, help="moves, one after the other")
    parser.add_argument("--nodes", type=int, default=NODES, help="builds of each kernel, at most")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each kernel, at most")
    parser.add_argument("--gpus", default="all", help="indices or UUIDs, with commas")
    parser.add_argument("--set", nargs="+", default=(), metavar="NAME=VALUE", help="of the search")
    return parser.parse_args()


if __name__ == "__main__":
    main()
