"""What stands in for machine, toolchain and planner when a search is replayed, and the replay."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kernelwright.runners.model import BuildOptions, Ending
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.engine.engine import Engine
from kernelwright.search.engine.work import Ask, Evaluate, Outcome, Stopped
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Node
from kernelwright.search.moves.shared.base import State
from kernelwright.search.planning.planner import Context, Planner
from kernelwright.search.settings import Settings

SPEC: Final = KernelSpec.model_validate(
    {
        "name": "replayed",
        "kernel": {
            "kernel_type": "cpp",
            "source_code": "void f(float* y) {}",
            "metadata": {"kernel_name": "f"},
        },
        "io": {"arguments": [{"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]}]},
        "symbols": {"n": None},
        "workloads": [{"name": "replayed", "symbols": {"n": 64}}],
        "reference": "baseline",
    }
)
STATE: Final = State("cpp", "", {}, BuildOptions(), SPEC)
"""Planners of a replay look at no kernel; a context needs one all the same."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of the variant that a candidate gives."""

    ending: Ending
    key: str | None = None
    """variant id; None: the candidate gave none"""
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    code: str | None = None
    """hash of the machine code; variants of one code share their measurement and a node"""


@dataclass(frozen=True)
class World:
    """A kernel of which everything that may be proposed was evaluated before.

    The planner proposes nothing else; `look_up` tells how the candidate of a piece of work ended.
    """

    root: str
    planner: Planner
    look_up: Callable[[Evaluate], Found]
    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    def context(self, node: Node) -> Context:
        """A context without a kernel: the node's key is all that the planner goes by."""
        return Context("replay", node.key, STATE, weights=self.weights)


@dataclass(frozen=True, slots=True)
class Step:
    """One outcome of a replay."""

    edge_id: str
    parent: str
    method: str
    found: Found
    builds: int
    """spent so far, this step included"""
    best: float
    """speedup of the incumbent after it"""


@dataclass(frozen=True)
class Replayed:
    """A replay from the root to its stop verdict."""

    steps: tuple[Step, ...]
    stopped: Stopped
    graph: Graph

    def best_after(self, builds: int) -> float:
        """Speedup of the incumbent once so many builds were spent; 1 at the start."""
        return max((s.best for s in self.steps if s.builds <= builds), default=1.0)

    def builds_to(self, speedup: float) -> int | None:
        """Builds until the incumbent had a speedup; None: it never had."""
        return next((s.builds for s in self.steps if s.best >= speedup), None)


def replay(
    world: World, settings: Settings, parallel: int = 1, graph: Graph | None = None
) -> Replayed:
    """The engine over a world until it stops, with so many evaluations under way at a time.

    Outcomes are told in the order in which the work was given, as sessions do. The same world
    and settings give the same replay. `graph`: of an earlier replay in this world, to go on with.
    """
    if graph is None:
        graph = Graph()
        graph.add_root(world.root)
    engine = Engine(graph, settings, world.planner, world.context)
    running, steps, codes = deque[Evaluate](), list[Step](), dict[str, str]()
    while True:
        work = engine.next_work() if len(running) < parallel else None
        if isinstance(work, Ask):
            raise ValueError("the planner of a world knows its answers; this one asks")
        if isinstance(work, Stopped) and not running:
            return Replayed(tuple(steps), work, graph)
        if isinstance(work, Evaluate):
            running.append(work)
        else:
            steps.append(_told(world, engine, running.popleft(), codes))


def _told(world: World, engine: Engine, work: Evaluate, codes: dict[str, str]) -> Step:
    """Record an outcome. `codes`: the first variant of each machine code."""
    found = world.look_up(work)
    twin = None
    if found.key is not None and found.code is not None and found.ending.final:
        twin = codes.setdefault(found.code, found.key)
    engine.record(work.edge_id, outcome_of(found, engine, None if twin == found.key else twin))
    return Step(
        work.edge_id,
        work.parent,
        work.candidate.method,
        found,
        engine.ledger.builds,
        engine.incumbent.speedup or 1.0,
    )


def outcome_of(found: Found, engine: Engine, twin: str | None = None) -> Outcome:
    """What the evaluator would have said: what the graph has costs nothing, and whatever is faster
    than the incumbent by `min_gain` is the new one. `twin`: a variant of the same machine code."""
    known = None if found.key is None else engine.graph.of_variant(found.key)
    duplicate = known is not None and known.ending.final
    least = (engine.incumbent.speedup or 1.0) * (1 + engine.settings.min_gain)
    better = found.speedup is not None and found.ending.final and found.speedup >= least
    return Outcome(
        ending=found.ending,
        variant_id=found.key,
        speedup=found.speedup,
        interval=found.interval,
        became_incumbent=better and not duplicate,
        duplicate_of_known=duplicate,
        spent_build=not duplicate and found.ending is not Ending.rejected,
        same_code_as=None if duplicate else twin,
    )
