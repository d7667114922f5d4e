"""Graphs to replay searches in: recorded ones from files, and made-up ones to try things out.

A made-up graph stands for a kernel to which each of some methods can be applied once. What a method
brings is alike in all kernels and of its own in each; some pay only after others, some fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from random import Random

from replay.graph_world import Prior, recorded_prior
from replay.recorded import (
    RecordedEdge,
    RecordedGraph,
    RecordedNode,
    graphs_from_bytes,
)

from kernelwright.runners.model import Ending
from kernelwright.search.moves import CANONICAL

METHODS = tuple(CANONICAL)[:12]
DEEPEST = 4
"""methods that can be applied one after the other"""


def read(files: Iterable[Path]) -> tuple[RecordedGraph, ...]:
    """All graphs of some files with something to gain in them, by name and each once.

    Raises ValueError for two graphs of one name.
    """
    graphs = [graph for file in files for graph in graphs_from_bytes(file.read_bytes())]
    names = [graph.kernel for graph in graphs]
    if len(set(names)) < len(names):
        raise ValueError(f"a kernel is there twice: {', '.join(sorted(names))}")
    worth_it = (graph for graph in graphs if (graph.best.speedup or 1.0) > 1.01)
    return tuple(sorted(worth_it, key=lambda graph: graph.kernel))


def made_up(kernels: int) -> tuple[RecordedGraph, ...]:
    """Graphs of so many made-up kernels, always the same."""
    return tuple(_made_up(f"made_up_{number:02d}") for number in range(kernels))


def jittered(seed: int, sigma: float) -> Prior:
    """Recorded priors, each times a lognormal factor of its own that follows from the seed.

    A recorded graph and a policy leave little to chance; this asks what a policy is worth with
    priors that might as well have been these.
    """
    if not sigma:
        return recorded_prior

    def prior(edge: RecordedEdge, previous_method: str) -> float:
        drawn = Random(f"{seed}:{edge.parent}:{edge.method}:{edge.detail}").gauss(0.0, sigma)
        return edge.prior * math.exp(drawn)

    return prior


def _made_up(kernel: str) -> RecordedGraph:
    nodes, edges = list[RecordedNode](), list[RecordedEdge]()
    known = dict[str, RecordedNode]()
    for size in range(DEEPEST + 1):
        for applied in combinations(range(len(METHODS)), size):
            node = _node(kernel, applied)
            known[node.key] = node
            nodes.append(node)
    for node in nodes:
        if node.ending.measured:
            edges += _edges(kernel, node, known)
    return RecordedGraph(
        kernel=kernel,
        language="cuda",
        arch="made up",
        root=_key(()),
        nodes=tuple(nodes),
        edges=tuple(edges),
    )


def _edges(kernel: str, node: RecordedNode, known: dict[str, RecordedNode]) -> list[RecordedEdge]:
    applied = tuple(int(part) for part in node.key.split("-")[1:])
    found = list[RecordedEdge]()
    for number, method in enumerate(METHODS):
        child = known.get(_key((*applied, number)))
        if number not in applied and child is not None:
            prior = Random(f"{kernel}:{node.key}:{method}").uniform(0.5, 1.5)
            found.append(
                RecordedEdge(
                    parent=node.key,
                    method=method,
                    prior=prior,
                    child=child.key,
                    ending=child.ending,
                )
            )
    return found


def _node(kernel: str, applied: Sequence[int]) -> RecordedNode:
    key = _key(applied)
    if not applied:
        return RecordedNode(key=key, ending=Ending.tie, speedup=1.0, interval=(1.0, 1.0))
    if Random(f"{kernel}:{key}").random() < 0.15:
        return RecordedNode(key=key, ending=Ending.wrong)
    speedup = 2.0 ** sum(_effect(kernel, number, applied) for number in applied)
    ending = Ending.faster if speedup > 1 else Ending.slower
    interval = (speedup * 0.995, speedup * 1.005)
    return RecordedNode(key=key, ending=ending, speedup=speedup, interval=interval)


def _effect(kernel: str, number: int, applied: Sequence[int]) -> float:
    """log2 that a method brings: every third pays only beside the one before it."""
    usual = Random(f"effect {number}").gauss(0.0, 0.6)
    own = Random(f"{kernel} effect {number}").gauss(0.0, 0.3)
    waits = number % 3 == 2 and number - 1 not in applied
    return -0.3 if waits else usual + own


def _key(applied: Iterable[int]) -> str:
    return "-".join(["v", *map(str, sorted(applied))])
