"""A small deterministic landscape for the engine: a kernel of three parameters, its evaluator, and
planners, with what tests drive them with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelwright.runners.model import BuildOptions, Candidate, Ending
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Ask, Evaluate, Outcome, Stopped
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Node
from kernelwright.search.moves.shared.base import State
from kernelwright.search.planning.planner import Context, Planner, PlannerRun, Reply, client_planner
from kernelwright.search.settings import Settings

VALUES = {"ORDER": (0, 1, 2), "TILE": (1, 2, 4, 8, 16), "UNROLL": (1, 2, 4, 8)}
SPEC = KernelSpec.model_validate(
    {
        "name": "landscape",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": "void f(float* y) {}",
            "metadata": {"kernel_name": "f"},
        },
        "io": {"arguments": [{"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]}]},
        "symbols": {"n": None},
        "workloads": [
            {"name": "seen", "symbols": {"n": 64}},
            {"name": "secret", "symbols": {"n": 96}, "held_out": True},
        ],
        "parameters": {name: {"values": values} for name, values in VALUES.items()},
        "reference": "baseline",
    }
)

Point = dict[str, int]


def key_of(point: Point) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(point.items()))


def point_of(key: str) -> Point:
    return {name: int(value) for name, value in (part.split("=") for part in key.split())}


ROOT = key_of({name: values[0] for name, values in VALUES.items()})


def context_of(node: Node) -> Context:
    point = point_of(node.key)
    state = State("cpp", "void f(float* y) {}", point, BuildOptions(), SPEC)
    return Context(search_id="s1", variant_id=node.key, state=state, headroom="memory bound")


def neighbours(context: Context) -> PlannerRun:
    """A planner that asks nobody: one parameter one value up or down, upwards likelier."""
    yield from ()
    tried = {json.dumps(t.candidate.parameters) for t in context.history}
    found: list[Candidate] = []
    for name, value in context.state.parameters.items():
        at = VALUES[name].index(value)
        for index, prior in ((at + 1, 2.0), (at - 1, 1.0)):
            if 0 <= index < len(VALUES[name]):
                change = {name: VALUES[name][index]}
                if json.dumps(change) not in tried:
                    found.append(Candidate(method=f"set {name}", parameters=change, prior=prior))
    return tuple(sorted(found, key=lambda c: -c.prior)[: context.wanted])


def speedup_at(point: Point) -> float | Ending:
    """Best at ORDER=2 TILE=8 UNROLL=4 (6x); UNROLL pays only once the order is right."""
    order, tile, unroll = point["ORDER"], point["TILE"], point["UNROLL"]
    if tile * unroll > 64:
        return Ending.build_failed
    if order == 1 and unroll == 8:
        return Ending.wrong
    cache = {1: 1.0, 2: 1.3, 4: 1.7, 8: 2.0, 16: 1.4}[tile]
    flow = {1: 1.0, 2: 1.2, 4: 1.5, 8: 1.1}[unroll] if order == 2 else 1.0 / unroll**0.2
    return cache * flow * {0: 1.0, 1: 0.9, 2: 2.0}[order]


@dataclass
class World:
    """The evaluator's side: known variants cost nothing, the best so far is the incumbent."""

    best: float = 1.0
    known: frozenset[str] = frozenset({ROOT})

    def __call__(self, work: Evaluate) -> Outcome:
        point = {**point_of(work.parent), **(work.candidate.parameters or {})}
        key, known = key_of(point), key_of(point) in self.known
        self.known |= {key}
        found = speedup_at(point)
        if isinstance(found, Ending):
            return Outcome(
                found, key, spent_build=not known, duplicate_of_known=known, message="as always"
            )
        better = found >= self.best * 1.01
        self.best = max(self.best, found)
        return Outcome(
            Ending.faster if better else Ending.slower,
            key,
            speedup=found,
            interval=(found * 0.99, found * 1.01),
            became_incumbent=better,
            duplicate_of_known=known,
            spent_build=not known,
        )


def new_graph() -> Graph:
    graph = Graph()
    graph.add_root(ROOT)
    return graph


def engine_with(
    planner: Planner = neighbours, ceiling: float | None = None, **changes: Any
) -> Engine:
    return Engine(new_graph(), Settings(**changes), planner, context_of, ceiling)


def evaluate_next(engine: Engine) -> Evaluate:
    work = engine.next_work()
    assert isinstance(work, Evaluate)
    return work


def drive(engine: Engine, world: Callable[[Evaluate], Outcome]) -> tuple[list[Evaluate], Stopped]:
    done: list[Evaluate] = []
    while isinstance(work := engine.next_work(), Evaluate):
        done.append(work)
        engine.record(work.edge_id, world(work))
    assert isinstance(work, Stopped)
    return done, work


def change(gain: float | None = None, prior: float = 1.0, **parameters: int) -> Candidate:
    return Candidate(
        method="set", parameters=parameters, prior=prior, predicted_gain=gain, detail="by hand"
    )


def ask_next(engine: Engine) -> Ask:
    work = engine.next_work()
    assert isinstance(work, Ask)
    return work


def reply(*candidates: Candidate) -> Reply:
    return Reply(candidates=candidates)


def asked(*candidates: Candidate, **changes: Any) -> Engine:
    """An engine whose client has answered the first question."""
    engine = engine_with(client_planner, **changes)
    engine.answer(ask_next(engine).node_id, reply(*candidates))
    return engine


def measured(speedup: float, key: str, **facts: Any) -> Outcome:
    return Outcome(Ending.slower, key, speedup=speedup, **facts)
